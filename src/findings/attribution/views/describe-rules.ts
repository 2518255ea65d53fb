/** `mbforensics explain rules`: the built-in rules as a list, and the samples of a rules file put to the test. */

import { builtInTiers, compiledRules, RULES_VERSION, readPhases } from '../../../attribution/built-in-rules.js';
import { classifyStack, labelOf } from '../../../attribution/match/classify-stack.js';
import type { UserRule } from '../../../attribution/match/rule.js';
import { sampleMatches } from '../../../attribution/match/sample-frames.js';
import type { RulesResult, RulesTestResult, SampleVerdict } from '../../../model/results/rules.js';
import { sentencesOf, type Unworded } from '../../../model/statement.js';

const sentence = sentencesOf('rules');

export function describeRules(): RulesResult {
  return {
    schema: 'mbforensics/rules@1',
    rules_version: RULES_VERSION,
    rules: builtInTiers().flatMap(({ name, rules }) =>
      rules.map(({ id, component, sub_component, source, tested }) => ({
        id,
        tier: name,
        component,
        sub_component,
        source,
        samples: tested,
      })),
    ),
    phases: readPhases().phases.map(({ phase, source }) => ({ phase, source })),
  };
}

/** Each sample must be won by the rule it stands with, against all other rules of the file and the built-in ones. */
export function testRules(file: string, rules: readonly UserRule[]): Unworded<RulesTestResult, 'reason'> {
  const compiled = compiledRules(rules);
  const samples = rules.flatMap((rule) =>
    rule.samples.map((sample, i): Unworded<SampleVerdict, 'reason'> => {
      const stack = classifyStack(compiled, sampleMatches(compiled, sample.frames));
      const label = labelOf(stack, sample);
      const wanted = sample.component ?? rule.component;
      const reason =
        label === undefined
          ? sentence('no_match')
          : label.rule !== rule
            ? sentence('rule_wins', { rule: label.rule.id })
            : label.component !== wanted
              ? sentence('is_other', { component: label.component, wanted })
              : sample.phase !== undefined && label.phase !== sample.phase
                ? sentence('phase_other', { phase: label.phase, wanted: sample.phase })
                : null;
      return {
        rule: rule.id,
        sample: i + 1,
        passed: reason === null,
        component: label?.component ?? null,
        by_rule: label?.rule.id ?? null,
        reason,
      };
    }),
  );
  return { schema: 'mbforensics/rules-test@1', file, rules: rules.length, samples };
}

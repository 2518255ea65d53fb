import { describe, expect, it } from 'vitest';
import { EXAMPLE_RULES } from '../../src/attribution/match/example-rules.js';
import { parseRules } from '../../src/attribution/match/user-rules.js';
import { testRules } from '../../src/findings/attribution/views/describe-rules.js';
import { MbfError } from '../../src/model/errors.js';
import { worded } from '../../src/report/words/worded.js';

function errorOf(text: string): string {
  try {
    parseRules(text, 'r.yaml');
  } catch (error) {
    if (error instanceof MbfError && error.code === 'MBF2601') return error.describe();
    throw error;
  }
  return '';
}

describe('rules files', () => {
  it('reads the example, whose samples its rules win', () => {
    const rules = parseRules(EXAMPLE_RULES, 'example');
    expect(rules.map(({ id }) => id)).toEqual(['mymodel.vision-encoder', 'mymodel.rope-cache']);
    expect(rules[1]!.when).toEqual({ lifetime: 'resident', min_bytes: 1_048_576 });
    expect(testRules('example', rules).samples.map(({ passed }) => passed)).toEqual([true]);
  });

  it('goes before the built-in rules, and says which rule wins where a sample is lost', () => {
    const rules = parseRules(
      `rules:
  - id: first
    component: input
    at: { function: forward }
  - id: second
    component: kv_cache
    at: { function: [forward, other] }
    samples: [{ frames: ["forward a.py"] }, { frames: ["other a.py"], component: activation }, { frames: ["none a.py"] }]
`,
      'r.yaml',
    );
    expect(worded(testRules('r.yaml', rules)).samples.map(({ reason }) => reason)).toEqual([
      'rule first wins',
      'it is kv_cache, not activation',
      'no rule matches it',
    ]);
  });

  const ruleWith = (lines: string): string => `rules:\n  - id: a\n    component: activation\n    ${lines}`;
  it.each([
    ['rules: [', 'line 1'],
    ['- a', 'the file must hold one key, rules'],
    ['rules: []', 'at least one rule'],
    [
      ruleWith('at: {function: f}').replace('activation', 'activatoin'),
      'line 3: rule 1: invalid component; expected one of',
    ],
    [ruleWith('').trimEnd(), 'it matches nothing'],
    [ruleWith('at: {}'), 'needs a file, a function, or both'],
    [ruleWith('at: {func: f}'), 'at has no key func'],
    [ruleWith('at: {function: 3}'), 'a pattern must be a text'],
    [ruleWith('at: {function: f}\n    when: {lifetime: long}'), 'resident, transient'],
    [ruleWith('at: {function: f}\n    when: {min_bytes: -1}'), 'whole numbers of bytes'],
    [
      'rules:\n  - {id: a, component: input, at: {function: f}}\n  - {id: a, component: input, at: {function: g}}',
      'a second rule a',
    ],
    [ruleWith('at: {function: f}\n    samples: [{frames: []}]'), 'frames must be a list of texts'],
    [ruleWith('at: {function: f}\n    extra: 1'), 'a rule has no key extra'],
  ])('refuses %j', (text, expected) => {
    expect(errorOf(text)).toContain(expected);
  });
});

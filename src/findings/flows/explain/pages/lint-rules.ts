/** dist/docs/lint-rules.md: every rule. */

import type { LintRule } from '../../../../derive/lint/rule.js';
import { lintRules } from '../../../../derive/lint/rules.js';
import { LINT_SEVERITIES } from '../../../../model/results/lint.js';
import { versionsText, withoutValues } from '../rule-words.js';
import { item, md, mdTable, page } from './markdown.js';

const MEANING: Readonly<Record<LintRule['severity'], string>> = {
  error: 'the framework refuses to start, or training is silently broken',
  warning: 'costs memory or speed, or has no effect',
  note: 'worth a look',
};

export function lintRulesPage(): string {
  return page([
    '# Lint rules',
    '',
    'What a configuration must not be, as upstream asserts it and as the guides of Megatron know it. A rule is broken, kept, or undecided where a fact is missing that decides. `mbforensics explain ID` prints one of them.',
    '',
    ...mdTable(
      ['severity', 'rules', 'means'],
      LINT_SEVERITIES.map((severity) => [severity, String(of(severity).length), MEANING[severity]]),
    ),
    ...LINT_SEVERITIES.flatMap((severity) => [
      '',
      `## ${severity[0]?.toUpperCase()}${severity.slice(1)}s`,
      ...of(severity).flatMap(section),
    ]),
  ]);
}

const of = (severity: LintRule['severity']): LintRule[] => lintRules().filter((rule) => rule.severity === severity);

function section(rule: LintRule): string[] {
  const { id, message, when, versions = [], error, fix, source, evidence } = rule;
  return [
    '',
    `### ${id}`,
    '',
    md(withoutValues(message)),
    '',
    ...item('broken if', md(when.text)),
    ...item('versions', md(versions.map(versionsText).join('; '))),
    ...item('upstream', error === null ? 'no error' : `“${md(error)}”`),
    ...item('fix', md(withoutValues(fix))),
    ...item('source', `${md(source)} (${evidence})`),
  ];
}

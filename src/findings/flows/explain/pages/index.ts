/** Pages that `npm run build` writes to dist/docs, by their file names. */

import type { LintRule } from '../../../../derive/lint/rule.js';
import { lintRules } from '../../../../derive/lint/rules.js';
import { SYMPTOMS } from '../../../../knowledge/symptoms.js';
import { LINT_SEVERITIES } from '../../../../model/results/lint.js';
import { versionsText, withoutValues } from '../rule-words.js';
import { knobsPage } from './knobs.js';
import { item, md, mdTable, page } from './markdown.js';

export const PAGES: Readonly<Record<string, () => string>> = {
  'lint-rules.md': lintRulesPage,
  'knobs.md': knobsPage,
  'symptoms.md': symptomsPage,
};

/** What one sees, what it comes from, how to make sure, what to do. */
function symptomsPage(): string {
  return page([
    '# Symptoms',
    '',
    'Symptoms of the guides with their causes. `advise` looks for them in a run and carries out the confirmation where the run has what it takes; `mbforensics explain S1` prints one of them.',
    ...SYMPTOMS.flatMap(({ id, name, symptom, cause, confirm, fix }) => [
      '',
      `## ${id} ${name}`,
      '',
      md(symptom),
      '',
      ...item('cause', md(cause)),
      ...item('confirm', md(confirm)),
      ...item('fix', md(fix)),
    ]),
  ]);
}

const MEANING: Readonly<Record<LintRule['severity'], string>> = {
  error: 'the framework refuses to start, or training is silently broken',
  warning: 'costs memory or speed, or has no effect',
  note: 'worth a look',
};

function lintRulesPage(): string {
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

/** docs/guides-coverage.md: what the guides say, and what of this tool carries it. */

import { DISAGREEMENTS } from '../../../knowledge/disagreements.js';
import { GUIDE_NAMES } from '../../../model/knowledge-results.js';
import { type Coverage, type CoveringRule, coverage, type StatementCoverage } from '../coverage.js';
import { STATEMENTS } from '../statements/index.js';
import type { Statement } from '../statements/statement.js';
import { code, codes, md, mdTable, page } from './markdown.js';
import { measuredSection } from './measured.js';

export function guidesCoveragePage(): string {
  const covered = coverage();
  return page([
    '# What the guides say, and what carries it',
    '',
    `Five guides were read: ${Object.entries(GUIDE_NAMES)
      .map(([id, name]) => `${name} (\`${id}\`)`)
      .join(
        ', ',
      )}. \`guide\` marks what both performance guides say. Each statement is carried by a lint rule, a knob, a symptom or a fix, or it says why not.`,
    '',
    ...counts(covered),
    '',
    '## Statements',
    '',
    ...mdTable(['statement', 'says', 'evidence', 'today', 'carried by'], covered.statements.map(statementRow)),
    '',
    '## Constraints',
    '',
    'What upstream asserts, and the rules for it. Samples are the configurations that a test tries each rule on: broken, kept, undecided.',
    '',
    ...mdTable(
      ['constraint', 'rules', 'samples'],
      covered.constraints.map(({ id, rules }) => [
        code(id),
        rules.map((rule) => `[${rule.id}](lint-rules.md#${rule.id})`).join(', ') || 'none',
        rules.map(samples).join('; ') || '–',
      ]),
    ),
    '',
    '## Disagreements',
    '',
    'Where the guides disagree with each other or with upstream.',
    ...DISAGREEMENTS.flatMap(({ id, topic, a, b, resolution, statements }) => [
      '',
      `### ${id}`,
      '',
      `${md(topic)}.`,
      '',
      `- one: ${md(a)}`,
      `- another: ${md(b)}`,
      `- resolved: ${md(resolution)}`,
      `- between: ${codes(statements)}`,
    ]),
    '',
    ...measuredSection(),
  ]);
}

function counts({ statements, constraints }: Coverage): string[] {
  const carried = statements.filter(({ isCarried }) => isCarried).length;
  const reasoned = statements.filter(({ reason }) => reason !== null).length;
  return [
    `${statements.length} statements: ${carried} carried, ${reasoned} with a reason, ${statements.length - carried - reasoned} open. ${constraints.length} constraints: ${constraints.filter(({ rules }) => rules.length > 0).length} with a rule.`,
  ];
}

const BY_ID = new Map(STATEMENTS.map((statement) => [statement.id, statement]));

function statementRow(covered: StatementCoverage): string[] {
  const said: Statement | undefined = BY_ID.get(covered.id);
  return [code(covered.id), md(said?.text ?? ''), md(said?.evidence ?? ''), md(said?.today ?? '–'), carriedBy(covered)];
}

function carriedBy({ carriers, isCarried, reason }: StatementCoverage): string {
  if (!isCarried) return reason === null ? 'nothing yet' : `*${md(reason)}*`;
  return (['rules', 'knobs', 'symptoms', 'fixes'] as const)
    .filter((what) => carriers[what].length > 0)
    .map((what) => `${what}: ${codes(carriers[what])}`)
    .join('; ');
}

const samples = ({ fails, passes, unknown }: CoveringRule): string => `${fails} / ${passes} / ${unknown}`;

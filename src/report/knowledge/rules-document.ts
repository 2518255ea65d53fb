/** Attribution rules, their tests, and what they make of a stack. */
import { sumOf } from '../../model/lists.js';
import type { ExplainedStack, ExplainStackResult, RulesResult, RulesTestResult } from '../../model/results/rules.js';
import {
  as,
  code,
  column,
  count,
  counted,
  counts,
  type Document,
  document,
  joined,
  type MaybePart,
  paragraph,
  section,
  type Text,
  t,
  table,
} from '../document/document.js';

export const rulesDocument = ({ schema, rules, rules_version: version }: RulesResult): Document =>
  document(
    schema,
    t`${counted(rules.length, 'rule')}, version ${as('rules_version', `${version}`)}, with ${sumOf(rules.map((rule) => rule.samples))} sample stacks; the first of a tier that matches the innermost frame wins`,
    table(rules, [column('id', ({ id }) => id, { title: 'rule' }), 'tier', 'component', 'sub_component'], {
      key: 'rules',
    }),
  );

export function rulesTestDocument({ schema, file, rules, samples }: RulesTestResult): Document {
  const failed = samples.filter(({ passed }) => !passed);
  return document(
    schema,
    '',
    table(failed, [column('rule', ({ rule }) => rule, { title: 'failed rule' }), 'sample', 'reason'], {
      key: 'failed',
    }),
    paragraph(
      t`${as('file', code(file))}: ${counted(rules, 'rule', 'rules', 'rules')}, ${samples.length - failed.length} of ${as('samples', count(samples.length))} samples pass${samples.length === 0 ? ' (a rule without samples is a guess)' : ''}`,
    ),
  );
}

export const explainStackDocument = ({ schema, stacks }: ExplainStackResult): Document =>
  document(schema, '', ...stacks.map(stackSection));

function stackSection(stack: ExplainedStack): MaybePart {
  const { component, sub_component: part, phase, rules } = stack;
  const what =
    component === null ? 'unattributed: no rule matches' : `${component}${part === null ? '' : ` (${part})`}`;
  const marks: readonly (readonly [number | null, Text])[] = [
    ...rules.filter(({ won }) => won).map(({ frame, id }) => [frame, code(id)] as const),
    [stack.phase_frame, `phase ${phase}`],
    [stack.recompute_frame, 'recompute'],
  ];
  return section(
    t`${as('from', code(stack.from))}: ${what}, phase ${phase}`,
    { key: 'stacks', isOneOf: true, fields: { component, sub_component: part, phase } },
    table(
      stack.frames,
      [
        counts('frame', (_, i) => i, { title: '#' }),
        column('name', (frame) => frame, { title: 'frame' }),
        column('decides', (_, i) =>
          joined(
            marks.map(([frame, text]) => frame === i && text),
            ' and ',
          ),
        ),
      ],
      { key: 'frames' },
    ),
    table(
      rules,
      [
        column('result', ({ won }) => (won ? 'won' : 'lost'), { title: 'rule' }),
        column('id', ({ id }) => id, { title: '' }),
        ...(['tier', 'frame', 'component', 'sub_component'] as const),
      ],
      {
        key: 'rules',
        under: ({ reason, won, source }) => [
          ...(reason === null ? [] : [reason]),
          ...(won ? [`source: ${source}`] : []),
        ],
      },
    ),
  );
}

/** Attribution rules, their tests, and what they make of a stack. */
import { sumOf } from '../../model/lists.js';
import type { ExplainedStack, ExplainStackResult, RulesResult, RulesTestResult } from '../../model/results/rules.js';
import * as d from '../document/document.js';

export const rulesDocument = ({ schema, rules, rules_version: version }: RulesResult): d.Document =>
  d.document(
    schema,
    d.t`${d.counted(rules.length, 'rule')}, version ${d.as('rules_version', `${version}`)}, with ${sumOf(rules.map((rule) => rule.samples))} sample stacks; the first of a tier that matches the innermost frame wins`,
    d.table(rules, [d.column('id', ({ id }) => id, { title: 'rule' }), 'tier', 'component', 'sub_component'], {
      key: 'rules',
    }),
  );

export function rulesTestDocument({ schema, file, rules, samples }: RulesTestResult): d.Document {
  const failed = samples.filter(({ passed }) => !passed);
  return d.document(
    schema,
    '',
    d.table(failed, [d.column('rule', ({ rule }) => rule, { title: 'failed rule' }), 'sample', 'reason'], {
      key: 'failed',
    }),
    d.paragraph(
      d.t`${d.as('file', d.code(file))}: ${d.counted(rules, 'rule', 'rules', 'rules')}, ${samples.length - failed.length} of ${d.as('samples', d.count(samples.length))} samples pass${samples.length === 0 ? ' (a rule without samples is a guess)' : ''}`,
    ),
  );
}

export const explainStackDocument = ({ schema, stacks }: ExplainStackResult): d.Document =>
  d.document(schema, '', ...stacks.map(stackSection));

function stackSection(stack: ExplainedStack): d.MaybePart {
  const { component, sub_component: part, phase, rules } = stack;
  const what =
    component === null ? 'unattributed: no rule matches' : `${component}${part === null ? '' : ` (${part})`}`;
  const marks: readonly (readonly [number | null, d.Text])[] = [
    ...rules.filter(({ won }) => won).map(({ frame, id }) => [frame, d.code(id)] as const),
    [stack.phase_frame, `phase ${phase}`],
    [stack.recompute_frame, 'recompute'],
  ];
  return d.section(
    d.t`${d.as('from', d.code(stack.from))}: ${what}, phase ${phase}`,
    { key: 'stacks', isOneOf: true, fields: { component, sub_component: part, phase } },
    d.table(
      stack.frames,
      [
        d.counts('frame', (_, i) => i, { title: '#' }),
        d.column('name', (frame) => frame, { title: 'frame' }),
        d.column('decides', (_, i) =>
          d.joined(
            marks.map(([frame, text]) => frame === i && text),
            ' and ',
          ),
        ),
      ],
      { key: 'frames' },
    ),
    d.table(
      rules,
      [
        d.column('result', ({ won }) => (won ? 'won' : 'lost'), { title: 'rule' }),
        d.column('id', ({ id }) => id, { title: '' }),
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

/** One handle of a diagnosis in full, or the list of them. */

import type { AccountingPart, AccountingTotal, ShowResult, VerdictCapture } from '../../model/results/common.js';
import { formatCount } from '../../model/units.js';
import * as d from '../document/document.js';
import { excerpt, formatValue, titleOf, unitOf } from '../document/values.js';
import { plain } from '../text-pieces.js';
import { causeName, wordOf } from '../words/fill.js';
import { type DiagnosedTarget, withTarget } from './diagnosis-parts.js';

/** Frames of a stack beyond these are the launcher's. */
const MOST_FRAMES = 24;
/** Characters of a cell, and of a line next to the quoted one; `--json=full` has all of them. */
const LONGEST_CELL = 400;
const LONGEST_NEIGHBOUR = 200;

export function showDocument(result: ShowResult, target: DiagnosedTarget = {}): d.Document {
  const { schema, run, rank, device, cause, verdict, verdicts, accounting, captures } = result;
  return {
    ...d.document(
      schema,
      d.joined(
        [
          rank !== null && `rank ${rank}`,
          device !== null && `device ${device}`,
          causeName(cause),
          verdicts > 1 && d.t`verdict ${verdict} of ${verdicts}`,
          d.t`run ${d.as('run', d.code(run))}`,
        ],
        ' · ',
      ),
      ...listParts(result, target),
      ...(accounting === null ? [] : accountParts(accounting)),
      ...testParts(result.tests),
      captures?.length === 0 && d.paragraph('every test ran: nothing has to be captured'),
      ...captureSections(captures ?? [], {}),
      statementSection(result),
      ...sourceParts(result),
    ),
    fields: { rank, device, cause, verdict, verdicts },
  };
}

function listParts({ handles, verdict }: ShowResult, target: DiagnosedTarget): d.MaybePart[] {
  if (handles === null) return [];
  const number = verdict === 1 ? '' : ` --verdict ${verdict}`;
  const words = [...handles.slice(0, 1).map(({ id }) => id), 'accounting', 'tests', 'captures'];
  return [
    d.table(handles, ['id', 'text'], {
      key: 'handles',
      isBare: true,
      under: ({ source }) => [source],
    }),
    d.section('More', {}, d.paste(words.map((word) => withTarget(`mbforensics show ${word}${number}`, target)))),
  ];
}

const OUTCOMES: Readonly<Record<string, readonly [string, d.Tone]>> = {
  holds: ['holds', 'bad'],
  fails: ['ruled out', 'plain'],
  not_testable: ['not tested', 'unsure'],
};

export function testParts(asked: ShowResult['tests']): d.MaybePart[] {
  if (asked === null) return [];
  const { tests, missing, combination, rules } = asked;
  return [
    d.table(
      tests,
      [
        d.column('outcome', ({ outcome }) => d.mark(...OUTCOMES[outcome]!)),
        d.column('cause', ({ cause }) => causeName(cause)),
        d.column('text', ({ outcome, text }) => (outcome === 'not_testable' ? `needs ${text}` : text), {
          title: 'why',
        }),
      ],
      {
        key: 'tests',
        under: ({ numbers }) => {
          const figures = Object.entries(numbers).map(
            ([name, value]) => `${titleOf(name)} ${formatValue(value, unitOf(name))}`,
          );
          return figures.length === 0 ? [] : [figures.join(' · ')];
        },
      },
    ) ?? d.paragraph('no test ran: the kind of the failure decides'),
    d.itemSection('Not known', 'missing', missing),
    d.itemSection('How one verdict was made of them', 'combination', combination),
    d.itemSection(
      'All rules, in the order they are applied',
      'rules',
      rules.map(({ text }) => text),
    ),
  ];
}

const FRAMEWORKS = [
  ['megatron_bridge', 'Megatron Bridge'],
  ['nemo', 'NeMo'],
  ['megatron_lm', 'Megatron-LM'],
  ['pytorch', 'PyTorch alone'],
] as const;

export const captureSections = (captures: readonly VerdictCapture[], look: Pick<d.Section, 'isFolded'>) =>
  captures.map(({ title, settles, lines }) =>
    d.section(
      d.t`${d.as('title', title)} (settles: ${settles.map(causeName).join(', ')})`,
      { key: 'captures', isOneOf: true, ...look },
      ...FRAMEWORKS.map(([key, name]) => d.section(name, {}, d.paste(lines[key], { key }))),
    ),
  );

const FROM = { snapshot: 'the snapshot', log: 'the log', joined: 'snapshot and log joined' } as const;
const momentTitle = wordOf('codes', 'account_moments');

function accountParts({ total, parts, from, peak }: NonNullable<ShowResult['accounting']>): d.MaybePart[] {
  const account = (title: string, key: string, sum: AccountingTotal, list: readonly AccountingPart[]) =>
    d.section(title, { key, fields: { total_bytes: sum.bytes } }, accountTable(sum, list));
  if (total === null && peak === null)
    return [d.paragraph('no account: the figures of the device are not in the evidence')];
  return [
    total !== null && account(`When it failed (from ${FROM[from ?? 'log']})`, 'accounting', total, parts),
    peak !== null && account(`${momentTitle(peak.moment)} (from ${FROM[peak.from]})`, 'peak', peak.total, peak.parts),
  ];
}

function accountTable(total: AccountingTotal, parts: readonly AccountingPart[]): d.MaybePart {
  const rows = parts.flatMap((part) => [
    part,
    ...(part.of ?? []).map((share) => ({ ...share, part: `of it ${plain(share.part)}` })),
  ]);
  return d.table(
    [...rows, { ...total, part: `= ${total.text}` }],
    [
      d.column('part', ({ part }) => plain(part)),
      d.column('bytes', (row) => row.bytes, { title: 'size' }),
      d.column('source', ({ source }) => source),
    ],
    { key: 'parts', kind: (_, i) => (i === rows.length ? 'sum' : undefined) },
  );
}

const statementSection = (result: ShowResult): d.MaybePart =>
  result.evidence &&
  d.section(
    d.t`${d.as('id', d.handle(result.evidence.id))} ${d.as('text', result.evidence.text)}`,
    { key: 'evidence' },
    d.note(d.as('source', result.evidence.source)),
    ...quotedParts(result),
  );

/** The stack of a statement, and its query with the rows. */
export function sourceParts({
  evidence,
  query,
  frames,
  rows,
  columns,
  rows_left_out: hidden,
}: ShowResult): d.MaybePart[] {
  if (evidence === null) return [];
  const stack = frames?.slice(0, MOST_FRAMES) ?? [];
  const callers = (frames?.length ?? 0) - stack.length;
  return [
    d.section(
      'Stack of the entry, innermost first',
      {},
      d.quote(stack, { key: 'frames' }),
      callers > 0 && d.note(d.counted(callers, 'more caller')),
    ),
    query === null
      ? d.note(
          evidence.about === 'replay'
            ? d.t`computed by the allocator model from the trace: ${d.code('mbforensics whatif replay')} and ${d.code('mbforensics whatif')} show it`
            : 'no row of the store is behind it',
        )
      : d.section(
          query.title,
          {},
          d.table(
            rows,
            columns.map(({ name, type }, i) =>
              d.column(name, (row) => cellOf(row[i]), {
                align: NUMERIC.test(type) ? 'right' : 'left',
                ...(name === 'time_us' ? { unit: 'clock' } : {}),
              }),
            ),
            { key: 'rows', notes: [hidden > 0 && d.t`${hidden} more (--limit 0 shows all)`] },
          ) ?? d.paragraph('no rows: what it needs was not kept in the store'),
        ),
    query !== null &&
      d.section(
        d.t`Query ${d.code(query.name)} with ${Object.entries(query.params).map(paramText).join(', ')}`,
        { key: 'query', isFolded: true, fields: { name: query.name } },
        d.quote(query.sql.split('\n'), { key: 'sql', language: 'sql' }),
      ),
  ];
}

/** `$rank = 3`, as SQL has it. */
function paramText([name, value]: readonly [name: string, value: string | number | null]): string {
  return `$${name} = ${typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : (value ?? 'NULL')}`;
}

const NUMERIC = /INT|DOUBLE|FLOAT|DECIMAL|REAL/i;

function cellOf(value: unknown): d.Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return excerpt(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_CELL);
}

const WHY_NO_LINES = {
  changed: 'the file has changed since it was read: its lines are not quoted',
  gone: 'the file is gone: its lines cannot be quoted',
  unreadable: 'the file cannot be read any more: its lines cannot be quoted',
} as const;

/** The line itself whole, and the beginnings of its neighbours. */
export function quotedParts({ text, evidence }: ShowResult): d.MaybePart[] {
  const lines = evidence?.lines;
  if (text === null || lines === undefined || !('line' in lines)) return [];
  if (text.status !== 'same' && text.status !== 'same_size') return [d.note(WHY_NO_LINES[text.status])];
  const width = formatCount(text.first_line + text.lines.length - 1).length;
  return [
    d.quote(
      text.lines.map((line, i) => {
        const number = text.first_line + i;
        const isIt = number === lines.line;
        return `${isIt ? '>' : ' '} ${formatCount(number).padStart(width)}  ${isIt ? line : excerpt(line, LONGEST_NEIGHBOUR)}`;
      }),
      { key: 'lines' },
    ),
    text.status === 'same_size' && d.note('a large file with another time of change: only parts of it were compared'),
  ];
}

/** One handle of a diagnosis in full, or the list of them. */

import type { AccountingPart, AccountingTotal, EvidenceResult, ShowResult } from '../../model/results/common.js';
import { formatCount } from '../../model/units.js';
import {
  as,
  type Cell,
  code,
  column,
  counted,
  type Document,
  document,
  handle,
  itemSection,
  joined,
  type MaybePart,
  mark,
  note,
  paragraph,
  paste,
  quote,
  section,
  type Tone,
  t,
  table,
} from '../document/document.js';
import { excerpt, formatValue, titleOf, unitOf } from '../document/values.js';
import { plain } from '../text-pieces.js';
import { causeName } from '../words/fill.js';
import { type DiagnosedTarget, withTarget } from './diagnosis-parts.js';

/** Frames of a stack beyond these are the launcher's. */
const MOST_FRAMES = 24;
/** Characters of a cell, and of a line next to the quoted one; `--json=full` has all of them. */
const LONGEST_CELL = 400;
const LONGEST_NEIGHBOUR = 200;

export function showDocument(result: ShowResult, target: DiagnosedTarget = {}): Document {
  const { schema, run, rank, device, cause, verdict, verdicts, accounting, captures } = result;
  return {
    ...document(
      schema,
      joined(
        [
          rank !== null && `rank ${rank}`,
          device !== null && `device ${device}`,
          causeName(cause),
          verdicts > 1 && t`verdict ${verdict} of ${verdicts}`,
          t`run ${as('run', code(run))}`,
        ],
        ' · ',
      ),
      ...listParts(result, target),
      ...(accounting === null ? [] : accountParts(accounting)),
      ...testParts(result),
      captures?.length === 0 && paragraph('every test ran: nothing has to be captured'),
      ...(captures ?? []).map(({ title, settles, lines }) =>
        section(
          t`${as('title', title)} (settles: ${settles.map(causeName).join(', ')})`,
          { key: 'captures', isOneOf: true },
          ...FRAMEWORKS.map(([key, name]) => section(name, {}, paste(lines[key], { key }))),
        ),
      ),
      ...evidenceParts(result),
    ),
    fields: { rank, device, cause, verdict, verdicts },
  };
}

function listParts({ handles, verdict }: ShowResult, target: DiagnosedTarget): MaybePart[] {
  if (handles === null) return [];
  const number = verdict === 1 ? '' : ` --verdict ${verdict}`;
  const words = [...handles.slice(0, 1).map(({ id }) => id), 'accounting', 'tests', 'captures'];
  return [
    table(handles, ['id', 'text'], {
      key: 'handles',
      isBare: true,
      under: ({ source }) => [source],
    }),
    section('More', {}, paste(words.map((word) => withTarget(`mbforensics show ${word}${number}`, target)))),
  ];
}

const OUTCOMES: Readonly<Record<string, readonly [string, Tone]>> = {
  holds: ['holds', 'bad'],
  fails: ['ruled out', 'plain'],
  not_testable: ['not tested', 'unsure'],
};

function testParts({ tests: asked }: ShowResult): MaybePart[] {
  if (asked === null) return [];
  const { tests, missing, combination, rules } = asked;
  return [
    table(
      tests,
      [
        column('outcome', ({ outcome }) => mark(...OUTCOMES[outcome]!)),
        column('cause', ({ cause }) => causeName(cause)),
        column('text', ({ outcome, text }) => (outcome === 'not_testable' ? `needs ${text}` : text), { title: 'why' }),
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
    ) ?? paragraph('no test ran: the kind of the failure decides'),
    itemSection('Not known', 'missing', missing),
    itemSection('How one verdict was made of them', 'combination', combination),
    itemSection(
      'All rules, in the order they are applied',
      'rules',
      rules.map(({ text }) => text),
    ),
  ];
}

export const FRAMEWORKS = [
  ['megatron_bridge', 'Megatron Bridge'],
  ['nemo', 'NeMo'],
  ['megatron_lm', 'Megatron-LM'],
  ['pytorch', 'PyTorch alone'],
] as const;

const FROM = { snapshot: 'the snapshot', log: 'the log', joined: 'snapshot and log joined' } as const;
const MOMENTS = {
  peak: 'At the peak, when most was live',
  dump: 'As dumped, since no trace shows the peak',
  lines: 'Memory lines at their peaks',
} as const;

function accountParts({ total, parts, from, peak }: NonNullable<ShowResult['accounting']>): MaybePart[] {
  const account = (title: string, key: string, sum: AccountingTotal, list: readonly AccountingPart[]) =>
    section(title, { key, fields: { total_bytes: sum.bytes } }, accountTable(sum, list));
  if (total === null && peak === null)
    return [paragraph('no account: the figures of the device are not in the evidence')];
  return [
    total !== null && account(`When it failed (from ${FROM[from ?? 'log']})`, 'accounting', total, parts),
    peak !== null && account(`${MOMENTS[peak.moment]} (from ${FROM[peak.from]})`, 'peak', peak.total, peak.parts),
  ];
}

function accountTable(total: AccountingTotal, parts: readonly AccountingPart[]): MaybePart {
  const rows = parts.flatMap((part) => [
    part,
    ...(part.of ?? []).map((share) => ({ ...share, part: `of it ${plain(share.part)}` })),
  ]);
  return table(
    [...rows, { ...total, part: `= ${total.text}` }],
    [
      column('part', ({ part }) => plain(part)),
      column('bytes', (row) => row.bytes, { title: 'size' }),
      column('source', ({ source }) => source),
    ],
    { key: 'parts', kind: (_, i) => (i === rows.length ? 'sum' : undefined) },
  );
}

function evidenceParts(result: ShowResult): MaybePart[] {
  const { evidence, query, frames, rows, columns, rows_left_out: hidden } = result;
  if (evidence === null) return [];
  const { id, text, source, about } = evidence;
  const stack = frames?.slice(0, MOST_FRAMES) ?? [];
  const callers = (frames?.length ?? 0) - stack.length;
  return [
    section(
      t`${as('id', handle(id))} ${as('text', text)}`,
      { key: 'evidence' },
      note(as('source', source)),
      ...quotedParts(result, evidence),
    ),
    section(
      'Stack of the entry, innermost first',
      {},
      quote(stack, { key: 'frames' }),
      callers > 0 && note(counted(callers, 'more caller')),
    ),
    query === null
      ? note(
          about === 'replay'
            ? t`computed by the allocator model from the trace: ${code('mbforensics whatif replay')} and ${code('mbforensics whatif')} show it`
            : 'no row of the store is behind it',
        )
      : section(
          query.title,
          {},
          table(
            rows,
            columns.map(({ name, type }, i) =>
              column(name, (row) => cellOf(row[i]), {
                align: NUMERIC.test(type) ? 'right' : 'left',
                ...(name === 'time_us' ? { unit: 'clock' } : {}),
              }),
            ),
            { key: 'rows', notes: [hidden > 0 && t`${hidden} more (--limit 0 shows all)`] },
          ) ?? paragraph('no rows: what it needs was not kept in the store'),
        ),
    query !== null &&
      section(
        t`Query ${code(query.name)} with ${Object.entries(query.params).map(paramText).join(', ')}`,
        { key: 'query', isFolded: true, fields: { name: query.name } },
        quote(query.sql.split('\n'), { key: 'sql', language: 'sql' }),
      ),
  ];
}

/** `$rank = 3`, as SQL has it. */
export function paramText([name, value]: readonly [name: string, value: string | number | null]): string {
  return `$${name} = ${typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : (value ?? 'NULL')}`;
}

const NUMERIC = /INT|DOUBLE|FLOAT|DECIMAL|REAL/i;

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return excerpt(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_CELL);
}

export const WHY_NO_LINES = {
  changed: 'the file has changed since it was read: its lines are not quoted',
  gone: 'the file is gone: its lines cannot be quoted',
  unreadable: 'the file cannot be read any more: its lines cannot be quoted',
} as const;

/** The line itself whole, and the beginnings of its neighbours. */
function quotedParts({ text }: ShowResult, { lines }: EvidenceResult): MaybePart[] {
  if (text === null || lines === undefined || !('line' in lines)) return [];
  if (text.status !== 'same' && text.status !== 'same_size') return [note(WHY_NO_LINES[text.status])];
  const width = formatCount(text.first_line + text.lines.length - 1).length;
  return [
    quote(
      text.lines.map((line, i) => {
        const number = text.first_line + i;
        const isIt = number === lines.line;
        return `${isIt ? '>' : ' '} ${formatCount(number).padStart(width)}  ${isIt ? line : excerpt(line, LONGEST_NEIGHBOUR)}`;
      }),
      { key: 'lines' },
    ),
    text.status === 'same_size' && note('a large file with another time of change: only parts of it were compared'),
  ];
}

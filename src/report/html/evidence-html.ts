/**
 * Every piece of evidence in full: its sentence and place, the quoted lines of the log, the stack of the request, the
 * query with its parameters and first rows. Pure.
 */
import type { ShownLines, ShowResult } from '../../model/results/common.js';
import type { ReportResult } from '../../model/results/report.js';
import { formatCount } from '../../model/units.js';
import { type Cell, type Column, column, table } from '../document/document.js';
import { unitOf } from '../document/values.js';
import { tableHtml } from '../render/html.js';
import { withTarget } from '../start/diagnosis-parts.js';
import { paramText, WHY_NO_LINES } from '../start/show-text.js';
import { counted, rankName } from '../text-pieces.js';
import { type Child, element, preformatted, type SafeHtml, text, textElement } from './html.js';
import { leftOut, type PageSection, section } from './page-pieces.js';

/** Characters of one cell, and of one quoted line. */
const LONGEST_CELL = 400;
const LONGEST_LINE = 2_000;
/** Frames of a stack beyond these are the launcher's. */
const MOST_FRAMES = 40;

/** `E6` of the first verdict, `2-E6` of the second one. */
const evidenceName = (id: string, verdict: number): string => (verdict === 1 ? id : `${verdict}-${id}`);

export function evidenceSection({ evidence, operand }: ReportResult): PageSection | null {
  const shown = evidence.filter((one) => one.evidence !== null);
  const several = new Set(shown.map(({ verdict }) => verdict)).size > 1;
  let verdict = 0;
  return section(
    'evidence',
    {
      name: 'Evidence',
      title: `Evidence: ${formatCount(shown.length)}`,
      about: 'Each statement with its place, the lines of the log, and the query behind it with its rows.',
    },
    shown.map((one) => {
      const isNew = several && one.verdict !== verdict;
      verdict = one.verdict;
      return [isNew && textElement('h3', verdictName(one)), entryHtml(one, operand)];
    }),
  );
}

function verdictName({ verdict, rank, device, cause }: ShowResult): string {
  const place = [rankName(rank), ...(device === null ? [] : [`device ${device}`])].join(', ');
  return `Verdict ${verdict}: ${cause.replaceAll('_', ' ')}, ${place}`;
}

function entryHtml(result: ShowResult, operand: string): SafeHtml {
  const { evidence, verdict, query } = result;
  const { id, text: sentence, source, about } = evidence!;
  const name = evidenceName(id, verdict);
  const number = verdict === 1 ? '' : ` --verdict ${verdict}`;
  return element(
    'details',
    { class: 'evidence', id: `evidence-${name}`, 'data-e': name },
    element(
      'summary',
      {},
      textElement('b', id, { class: 'e' }),
      text(` ${sentence} `),
      textElement('span', source, { class: 'muted' }),
    ),
    quoted(result),
    framesHtml(result),
    query === null
      ? textElement(
          'p',
          about === 'replay'
            ? 'Computed by the allocator model from the trace: mbforensics whatif replay and mbforensics whatif show it.'
            : 'No row of the store is behind it.',
          { class: 'note' },
        )
      : queryHtml(result, query, withTarget(`mbforensics show ${id}${number} --limit 0`, { operands: [operand] })),
  );
}

function quoted({ text: shown, evidence }: ShowResult): Child {
  if (shown === null || evidence?.lines === undefined || !('line' in evidence.lines)) return null;
  if (shown.status !== 'same' && shown.status !== 'same_size')
    return textElement('p', `${WHY_NO_LINES[shown.status].replace('the', 'The')}.`, { class: 'note' });
  return [
    quotedLines(shown, evidence.lines.line),
    shown.status === 'same_size' &&
      textElement(
        'p',
        'A large file with another time of change: only parts of it were compared with the file that was read.',
        {
          class: 'note',
        },
      ),
  ];
}

function quotedLines({ lines, first_line: first }: ShownLines, at: number): SafeHtml {
  const rows = lines.map((line, i) => {
    const number = first + i;
    return element(
      'span',
      { class: number === at ? 'line at' : 'line' },
      textElement('span', formatCount(number), { class: 'number' }),
      text(`${cut(line, LONGEST_LINE)}\n`),
    );
  });
  return element('pre', { class: 'quote' }, rows);
}

function framesHtml({ frames }: ShowResult): Child {
  if (frames === null || frames.length === 0) return null;
  const more = leftOut(frames.length - MOST_FRAMES, 'frames', '--json prints all');
  return [
    textElement('h4', 'Stack of the entry, innermost first'),
    preformatted([...frames.slice(0, MOST_FRAMES), ...(more === null ? [] : [more])]),
  ];
}

function queryHtml(
  { columns, rows, rows_left_out: left }: ShowResult,
  query: NonNullable<ShowResult['query']>,
  command: string,
): Child {
  const params = Object.entries(query.params).map(paramText);
  const shown = table(
    rows,
    columns.map((one, i) => valueColumn(one, i)),
    { caption: query.title, notes: [leftOut(left, 'rows', command)] },
  );
  return [
    shown === null
      ? textElement('p', `${query.title}: no rows. What it needs was not kept in the store.`, { class: 'note' })
      : tableHtml(shown),
    element(
      'details',
      { class: 'sql' },
      element('summary', {}, text('SQL of '), textElement('code', query.name), text(` with ${params.join(', ')}`)),
      preformatted(query.sql.split('\n')),
    ),
  ];
}

const NUMERIC = /INT|DOUBLE|FLOAT|DECIMAL|REAL/i;

/** A column of a query, in the unit of its name. */
function valueColumn({ name, type }: ShowResult['columns'][number], i: number): Column<readonly unknown[]> {
  const look = NUMERIC.test(type) && unitOf(name) === null ? { unit: 'count' as const } : {};
  return column(
    name,
    (row): Cell => {
      const value = row[i];
      if (value === null || value === undefined) return null;
      if (typeof value === 'number' || typeof value === 'boolean') return value;
      return cut(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_CELL);
    },
    look,
  );
}

function cut(line: string, most: number): string {
  return line.length <= most ? line : `${line.slice(0, most)}… (${counted(line.length - most, 'more character')})`;
}

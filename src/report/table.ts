/** Tables as plain aligned columns, so that no screen draws boxes of its own. */
import Table from 'cli-table3';
import stringWidth from 'string-width';
import { maxOf, sumOf } from '../model/lists.js';
import { fitLabels, printable } from './plain-text.js';
import { screen } from './screen.js';

export { fitLabels, keepEnd, keepEnds, printable, wrap } from './plain-text.js';

const NO_BORDERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};
/** Lines laid out together: the time of a layout grows with the square of its lines. */
const LINES_AT_ONCE = 256;

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** Words that are never shortened. */
  readonly isWhole?: boolean;
}

type Cell = string | number | null;

/** A column with what it shows of a row. */
export interface ColumnOf<Row> extends Column {
  readonly cell: (row: Row, index: number) => Cell;
}

/** A column of words. */
export function left(title: string): Column;
export function left<Row>(title: string, cell: ColumnOf<Row>['cell']): ColumnOf<Row>;
export function left<Row>(title: string, cell?: ColumnOf<Row>['cell']): Column {
  return { title, ...(cell === undefined ? {} : { cell }) };
}

/** A column of figures. */
export function right(title: string): Column;
export function right<Row>(title: string, cell: ColumnOf<Row>['cell']): ColumnOf<Row>;
export function right<Row>(title: string, cell?: ColumnOf<Row>['cell']): Column {
  return { title, align: 'right', ...(cell === undefined ? {} : { cell }) };
}

/** A table with a line for each row. A column that is false is left out. */
export function tableOf<Row>(rows: readonly Row[], columns: readonly (ColumnOf<Row> | false)[], indent = '  '): string {
  const shown = columns.filter((column) => column !== false);
  return table(
    shown,
    rows.map((row, index) => shown.map(({ cell }) => cell(row, index))),
    indent,
  );
}

/** Blanks between columns. */
const GAP = 2;
/** A column of words is not made narrower than this. */
const LEAST_COLUMN = 12;

/** Widths with which the table fits the screen: the widest columns of words give way. Figures are never cut. */
function shrink(widths: readonly number[], columns: readonly Column[], indent: string): number[] {
  const fitting = [...widths];
  if (screen.isLossless) return fitting;
  let excess = indent.length + sumOf(fitting) + GAP * (fitting.length - 1) - screen.width;
  while (excess > 0) {
    let widest = -1;
    fitting.forEach((width, i) => {
      const canShrink = columns[i]!.align !== 'right' && columns[i]!.isWhole !== true && width > LEAST_COLUMN;
      if (canShrink && (widest < 0 || width > fitting[widest]!)) widest = i;
    });
    if (widest < 0) break;
    fitting[widest]! -= 1;
    excess -= 1;
  }
  return fitting;
}

/** Lines no wider than the screen where words can be shortened, without trailing blanks; figures come formatted. */
export function table(columns: readonly Column[], rows: readonly (readonly Cell[])[], indent = ''): string {
  const cells = [
    columns.map(({ title }) => printable(title)),
    ...rows.map((row) => row.map((cell) => (cell === null ? '–' : printable(String(cell))))),
  ];
  const widths = columns.map((_, i) => Math.max(1, maxOf(cells.map((row) => stringWidth(row[i] ?? '')))));
  shrink(widths, columns, indent).forEach((width, i) => {
    if (width === widths[i]) return;
    widths[i] = width;
    const texts = fitLabels(
      cells.map((row) => row[i] ?? ''),
      width,
    );
    cells.forEach((row, r) => {
      row[i] = texts[r]!;
    });
  });
  const layout = {
    colWidths: widths,
    colAligns: columns.map(({ align = 'left' }) => align),
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  };
  const lines: string[] = [];
  for (let first = 0; first < cells.length; first += LINES_AT_ONCE) {
    const drawn = new Table(layout);
    for (const row of cells.slice(first, first + LINES_AT_ONCE)) drawn.push(row);
    for (const line of drawn.toString().split('\n')) lines.push(`${indent}${line}`.trimEnd());
  }
  return lines.join('\n');
}

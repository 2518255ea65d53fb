/** Tables as plain aligned columns, so that no screen draws boxes of its own. */
import stringWidth from 'string-width';
import { maxOf } from '../model/lists.js';
import { printable } from './plain-text.js';

export { keepEnd, printable, wrap } from './plain-text.js';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
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

/** Lines without trailing blanks; numbers should come formatted. */
export function table(columns: readonly Column[], rows: readonly (readonly Cell[])[], indent = ''): string {
  const drawn = new Table({
    head: columns.map((column) => column.title),
    colAligns: columns.map((column) => column.align ?? 'left'),
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  });
  for (const row of rows) drawn.push(row.map((cell) => (cell === null ? '–' : printable(String(cell)))));
  return drawn
    .toString()
    .split('\n')
    .map((line) => `${indent}${line}`.trimEnd())
    .join('\n');
}

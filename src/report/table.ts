/** Tables as plain aligned columns. One wrapper, so that tests own the look and no screen draws boxes of its own. */
import Table from 'cli-table3';
import { printable } from './plain-text.js';

export { keepEnd, printable, wrap } from './plain-text.js';

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

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Lines without trailing blanks; numbers should come formatted. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly (string | number | null)[])[],
  indent = '',
): string {
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

/** Tables as plain aligned columns, so that no screen draws boxes of its own. */
import stringWidth from 'string-width';
import { maxOf } from '../model/lists.js';
import { printable } from './plain-text.js';

export { keepEnd, printable, wrap } from './plain-text.js';

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
  const cells = [
    columns.map(({ title }) => printable(title)),
    ...rows.map((row) => row.map((cell) => (cell === null ? '–' : printable(String(cell))))),
  ];
  const widths = columns.map((_, i) => Math.max(1, maxOf(cells.map((row) => columnsOf(row[i] ?? '')))));
  const padded = (text: string, i: number): string => {
    const blanks = ' '.repeat(widths[i]! - columnsOf(text));
    return columns[i]!.align === 'right' ? blanks + text : text + blanks;
  };
  return cells.map((row) => `${indent}${row.map(padded).join('  ')}`.trimEnd()).join('\n');
}

/** Columns of a terminal. ASCII, dashes and dots have one each, and need no table of Unicode. */
function columnsOf(text: string): number {
  return /^[ -~\u2010-\u2027]*$/.test(text) ? text.length : stringWidth(text);
}

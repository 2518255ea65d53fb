/**
 * Tables as aligned columns. Cells are never cut: the widest columns of words are wrapped, and where even that is too
 * wide each row is a paragraph of its fields.
 */
import stringWidth from 'string-width';
import { maxOf, sumOf } from '../../model/lists.js';
import type { Table, TableRow } from '../document/document.js';
import { printable, wrap } from '../plain-text.js';
import { screen } from '../screen.js';
import { cellText, plainText } from './plain.js';

const GAP = '  ';
/** A column of words is not made narrower than this. */
const LEAST_COLUMN = 14;
const UNDER = '    ';

export const tableLines = (table: Table, width: number): string[] => {
  const [titles = [], ...rows] = laidOut(table, width);
  return [...(table.isBare === true ? [] : titles), ...rows.flat()];
};

/** The lines of each row. */
export const tableRows = (table: Table, width: number): string[][] => laidOut(table, width).slice(1);

/** The lines of the titles, then those of each row. */
function laidOut(table: Table, width: number): string[][] {
  const { columns, rows, isBare } = table;
  const titles = columns.map(({ title }) => (isBare === true ? '' : printable(title)));
  const cells = rows.map((row) => row.cells.map((cell, i) => printable(cellText(cell, columns[i]!))));
  const natural = columns.map((_, i) => Math.max(1, maxOf([titles, ...cells].map((row) => stringWidth(row[i]!)))));
  const isFlexible = columns.map(({ align }) => align === 'left');
  const widths = screen.isLossless ? natural : narrowed(natural, isFlexible, width);
  if (widths === null) return [[], ...recordLines(table, cells, width)];
  const aligned = (row: readonly string[]): string[] => {
    const wrapped = row.map((cell, i) => (stringWidth(cell) <= widths[i]! ? [cell] : wrapName(cell, widths[i]!)));
    return Array.from({ length: maxOf(wrapped.map((lines) => lines.length)) }, (_, line) =>
      wrapped
        .map((lines, i) => padded(lines[line] ?? '', widths[i]!, columns[i]!.align))
        .join(GAP)
        .trimEnd(),
    );
  };
  return [aligned(titles), ...cells.map((row, i) => [...aligned(row), ...underLines(rows[i]!, width)])];
}

function padded(text: string, width: number, align: 'left' | 'right'): string {
  const blanks = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return align === 'right' ? `${blanks}${text}` : `${text}${blanks}`;
}

/** Widths that fit, the widest columns of words made narrower; null where they cannot. */
function narrowed(natural: readonly number[], isFlexible: readonly boolean[], most: number): number[] | null {
  const widths = [...natural];
  let excess = sumOf(widths) + GAP.length * (widths.length - 1) - most;
  while (excess > 0) {
    let widest = -1;
    widths.forEach((width, i) => {
      if (isFlexible[i] === true && width > LEAST_COLUMN && (widest < 0 || width > widths[widest]!)) widest = i;
    });
    if (widest < 0) return null;
    widths[widest]! -= 1;
    excess -= 1;
  }
  return widths;
}

const SEPARATORS = ['.', '_', ',', '=', ':', '-', '('];

/** Breaks at blanks, else behind a sign that separates parts of a name, else anywhere. */
export function wrapName(text: string, width: number): string[] {
  return wrap(text, width).flatMap((line) => {
    const lines: string[] = [];
    let remaining = line;
    while (stringWidth(remaining) > width) {
      const start = remaining.slice(0, width);
      const at = [start.lastIndexOf('/'), maxOf(SEPARATORS.map((sign) => start.lastIndexOf(sign)))];
      const end = (at.find((one) => one >= width / 3) ?? width - 1) + 1;
      lines.push(remaining.slice(0, end));
      remaining = remaining.slice(end);
    }
    return [...lines, remaining];
  });
}

const underLines = ({ under }: TableRow, width: number): string[] =>
  under.flatMap((text) => wrap(`${UNDER}${printable(plainText(text))}`, width, `${UNDER}  `));

/** The names of a row, then its figures: `  live 3.40 GiB · blocks 12`. */
function recordLines({ columns, rows }: Table, cells: readonly (readonly string[])[], width: number): string[][] {
  return cells.map((row, i) => {
    const isName = columns.map(({ align, isCode }, c) => align === 'left' && (isCode || c === 0));
    const head = row.filter((cell, c) => isName[c] === true && cell !== '').join('  ');
    const figures = row.flatMap((cell, c) =>
      isName[c] === true || cell === '' ? [] : [`${columns[c]!.title} ${cell}`.trim().replaceAll(' ', '\u00a0')],
    );
    const lines = figures.length === 0 ? [] : wrap(`${GAP}${figures.join(' · ')}`, width, GAP);
    return [
      ...(head === '' ? [] : wrapName(head, width)),
      ...lines.map((line) => line.replaceAll('\u00a0', ' ')),
      ...underLines(rows[i]!, width),
    ];
  });
}

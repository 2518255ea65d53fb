/**
 * Tables as aligned columns. Cells are never cut: words in the widest columns are wrapped, and where even that is too
 * wide each row is a paragraph of its fields. Figures are on one line.
 */
import stringWidth from 'string-width';
import { maxOf, sumOf } from '../../model/lists.js';
import type { Table, TableRow } from '../document/document.js';
import { printable, wrap } from '../plain-text.js';
import { screen } from '../screen.js';
import { cellText, plainText } from './plain.js';

const GAP = '  ';
/** Most cells are plain, and the library is slow on tens of thousands. */
const PLAIN = /^[\x20-\x7e]*$/;
const widthOf = (text: string): number => (PLAIN.test(text) ? text.length : stringWidth(text));
/** A column is not made narrower than this. */
const LEAST_COLUMN = 14;
const UNDER = '    ';
/** What is below a row begins with its last column of words where this much is left of the line, and each word fits. */
const LEAST_UNDER = 46;

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
  const natural = columns.map((_, i) => Math.max(1, maxOf([titles, ...cells].map((row) => widthOf(row[i]!)))));
  const least = columns.map(({ align }, c) => {
    const figures = rows.map((row, r) => (typeof row.cells[c] === 'string' ? 0 : widthOf(cells[r]![c]!)));
    return align === 'left' ? LEAST_COLUMN : maxOf([LEAST_COLUMN, widthOf(titles[c]!), ...figures]);
  });
  const widths = screen.isLossless ? natural : narrowed(natural, least, width);
  if (widths === null) return [[], ...recordLines(table, cells, width)];
  const aligned = (row: readonly string[]): string[] => {
    const wrapped = row.map((cell, i) => (widthOf(cell) <= widths[i]! ? [cell] : wrapName(cell, widths[i]!)));
    return Array.from({ length: maxOf(wrapped.map((lines) => lines.length)) }, (_, line) =>
      wrapped
        .map((lines, i) => padded(lines[line] ?? '', widths[i]!, columns[i]!.align))
        .join(GAP)
        .trimEnd(),
    );
  };
  const lastWords = Math.max(
    0,
    columns.findLastIndex(({ align }) => align === 'left'),
  );
  const start = sumOf(widths.slice(0, lastWords)) + GAP.length * lastWords;
  return [aligned(titles), ...cells.map((row, i) => [...aligned(row), ...underLines(rows[i]!, width, start)])];
}

function padded(text: string, width: number, align: 'left' | 'right'): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'right' ? `${blanks}${text}` : `${text}${blanks}`;
}

/** Widths that fit, the widest made narrower, down to their least; null where that is too wide. */
function narrowed(natural: readonly number[], least: readonly number[], most: number): number[] | null {
  const widths = [...natural];
  let excess = sumOf(widths) + GAP.length * (widths.length - 1) - most;
  while (excess > 0) {
    let widest = -1;
    widths.forEach((width, i) => {
      if (width > least[i]! && (widest < 0 || width > widths[widest]!)) widest = i;
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
    while (widthOf(remaining) > width) {
      const start = remaining.slice(0, width);
      const at = [start.lastIndexOf('/'), maxOf(SEPARATORS.map((sign) => start.lastIndexOf(sign)))];
      const end = (at.find((one) => one >= width / 3) ?? width - 1) + 1;
      lines.push(remaining.slice(0, end));
      remaining = remaining.slice(end);
    }
    return [...lines, remaining];
  });
}

function underLines({ under }: TableRow, width: number, start = UNDER.length): string[] {
  const texts = under.map((text) => printable(plainText(text)));
  const longest = maxOf([LEAST_UNDER, ...texts.flatMap((text) => text.split(' ').map((word) => word.length + 2))]);
  const indent = width - start >= longest ? ' '.repeat(Math.max(start, UNDER.length)) : UNDER;
  return texts.flatMap((text) => wrap(`${indent}${text}`, width, `${indent}  `));
}

/** Only long words are broken. */
const kept = (figure: string): string => (figure.length > LONGEST_KEPT ? figure : figure.replaceAll(' ', '\u00a0'));
const LONGEST_KEPT = 60;

/** The names of a row, then its figures: `  live 3.40 GiB · blocks 12`. */
function recordLines({ columns, rows }: Table, cells: readonly (readonly string[])[], width: number): string[][] {
  return cells.map((row, i) => {
    const isName = columns.map(({ align, isCode }, c) => align === 'left' && (isCode || c === 0));
    const head = row.filter((cell, c) => isName[c] === true && cell !== '').join('  ');
    const figures = row.flatMap((cell, c) =>
      isName[c] === true || cell === '' ? [] : [kept(`${columns[c]!.title} ${cell}`.trim())],
    );
    const lines = figures.length === 0 ? [] : wrap(`${GAP}${figures.join(' · ')}`, width, GAP);
    return [
      ...(head === '' ? [] : wrapName(head, width)),
      ...lines.map((line) => line.replaceAll('\u00a0', ' ')),
      ...underLines(rows[i]!, width),
    ];
  });
}

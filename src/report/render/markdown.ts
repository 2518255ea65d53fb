/** A document as Markdown: for an issue, a pull request, a chat or the summary of a CI job. */

import { formatBytes } from '../../model/units.js';
import {
  type Bar,
  type Cell,
  type Document,
  type Part,
  piecesOf,
  type Section,
  type Table,
  type Text,
} from '../document/document.js';
import { mdCode, mdDetails, mdFence, mdLine, mdTable, mdText } from '../markdown.js';
import { barLines, signOf } from './bar.js';
import { cellText, plainText } from './plain.js';

/** Columns of a drawing in a fence: what a page of GitHub shows without scrolling. */
const DRAWN_WIDTH = 72;

export function documentMarkdown({ title, parts, each }: Document): string {
  if (each !== undefined) return each.documents.map(documentMarkdown).join('\n');
  return `${[`## ${inline(title)}`, ...partsLines(parts, 3)].join('\n').trimEnd()}\n`;
}

const inline = (text: Text): string =>
  piecesOf(text)
    .map((piece) => {
      if (typeof piece === 'string') return spaced(piece, mdText(piece));
      if ('code' in piece) return mdCode(piece.code);
      return 'mark' in piece && piece.tone === 'bad' ? `**${mdText(piece.mark)}**` : mdText(plainText(piece));
    })
    .join('');

/** `mdText` trims; pieces of a sentence keep the blanks between them. */
const spaced = (piece: string, text: string): string =>
  `${/^\s/.test(piece) && text !== '' ? ' ' : ''}${text}${/\s$/.test(piece) ? ' ' : ''}`;

/** At the beginning of a line. */
const line = (text: Text): string => {
  const [first, ...more] = piecesOf(text);
  if (typeof first !== 'string') return inline(text);
  return `${spaced(first, mdLine(first)).trimStart()}${inline(more)}`;
};

const partsLines = (parts: readonly Part[], level: number): string[] =>
  parts.flatMap((part) => {
    const lines = partLines(part, level);
    return lines.length === 0 ? [] : ['', ...lines];
  });

function partLines(part: Part, level: number): string[] {
  switch (part.type) {
    case 'section':
      return sectionLines(part, level);
    case 'paragraph':
      return [part.style === 'lead' ? `**${inline(part.text)}**` : line(part.text)];
    case 'items':
      return part.items.map((item, i) => `${part.isOrdered === true ? `${i + 1}.` : '-'} ${line(item)}`);
    case 'facts':
      return part.facts.map(({ title, value, unit }) => `- ${mdText(title)}: ${cell(value, { unit, isCode: false })}`);
    case 'lines':
      return mdFence(part.lines, part.language);
    case 'table':
      return tableMarkdown(part);
    case 'bar':
      return barMarkdown(part);
    case 'drawing': {
      const drawn = part.lines?.(DRAWN_WIDTH) ?? [];
      return drawn.length === 0 ? [] : mdFence(drawn, 'text');
    }
  }
}

function sectionLines({ title, about, isFolded, parts }: Section, level: number): string[] {
  const intro = about === undefined || about === null ? [] : ['', mdLine(about)];
  const body = [...intro, ...partsLines(parts, Math.min(6, level + 1))];
  if (isFolded === true) return mdDetails(inline(title), body.slice(1)).slice(1);
  return [`${'#'.repeat(level)} ${inline(title)}`, ...body];
}

function cell(
  value: Cell,
  column: { readonly unit: Table['columns'][number]['unit']; readonly isCode: boolean },
): string {
  if (value !== null && typeof value === 'object') return inline(value);
  const text = cellText(value, column);
  return column.isCode && value !== null ? mdCode(text) : mdText(text);
}

function tableMarkdown({ caption, columns, rows, notes }: Table): string[] {
  const body = rows.map(({ cells, under }) => {
    const shown = cells.map((value, i) => cell(value, columns[i]!));
    if (under.length > 0) shown[shown.length - 1] = [shown.at(-1), ...under.map(inline)].join('<br>');
    return shown;
  });
  return [
    ...(caption === null ? [] : [`**${mdText(caption)}**`, '']),
    ...mdTable(columns, body),
    ...notes.flatMap((text) => ['', line(text)]),
  ];
}

function barMarkdown(bar: Bar): string[] {
  const [drawn = ''] = barLines(bar, DRAWN_WIDTH);
  const rows = bar.parts.map(({ name, bytes }) => [
    mdText(bytes > 0 ? `${signOf(name)} ${name}` : name),
    formatBytes(bytes),
  ]);
  return [
    ...mdFence([drawn], 'text'),
    '',
    ...mdTable([{ title: 'part' }, { title: 'memory', align: 'right' }], [...rows, ['total', formatBytes(bar.total)]]),
  ];
}

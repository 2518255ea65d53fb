/**
 * A document as parts of the page. Figures in bytes carry the exact value in `data-bytes`, so that a script or a test
 * reads the number that JSON has. Pure.
 */
import { formatBytes } from '../../model/units.js';
import {
  type Bar,
  type Cell,
  type Fact,
  type Figure,
  type Part,
  piecesOf,
  type Section,
  type Table,
  type TableColumn,
  type Text,
} from '../document/document.js';
import { formatValue, UNKNOWN, type Unit } from '../document/values.js';
import { barDrawing } from '../html/account-bar.js';
import { type Child, element, list, preformatted, type SafeHtml, text, textElement } from '../html/html.js';
import { cellText, plainText } from './plain.js';

const isBytes = (unit: Unit | null): boolean => unit === 'bytes' || unit === 'change_bytes';

export const inlineHtml = (words: Text): SafeHtml[] =>
  piecesOf(words).map((piece) => {
    if (typeof piece === 'string') return text(piece);
    if ('value' in piece) return figureHtml(piece);
    if ('code' in piece) return textElement('code', piece.code);
    if ('word' in piece) return text(piece.word);
    if ('mark' in piece) return textElement('span', piece.mark, { class: `status ${piece.tone} ${piece.mark}` });
    return element('a', { class: 'e', href: `#evidence-${piece.handle}`, 'data-e': piece.handle }, text(piece.handle));
  });

const figureHtml = (figure: Figure): SafeHtml =>
  isBytes(figure.unit) && figure.value !== null
    ? textElement('span', plainText(figure), { 'data-bytes': figure.value })
    : text(plainText(figure));

export const partsHtml = (parts: readonly Part[], level = 3): Child[] => parts.map((part) => partHtml(part, level));

function partHtml(part: Part, level: number): Child {
  switch (part.type) {
    case 'section':
      return sectionHtml(part, level);
    case 'paragraph':
      return element('p', { class: part.style }, inlineHtml(part.text));
    case 'items':
      return list(
        part.items.map((item) => element('span', {}, inlineHtml(item))),
        {},
        part.isOrdered === true ? 'ol' : 'ul',
      );
    case 'facts':
      return factsHtml(part.facts);
    case 'lines':
      return preformatted(part.lines, part.isPasted ? { class: 'paste' } : {});
    case 'table':
      return tableHtml(part);
    case 'bar':
      return barHtml(part);
    case 'drawing':
      return part.html?.();
  }
}

function sectionHtml({ title, about, isFolded, parts }: Section, level: number): Child {
  const content = [
    about !== undefined && about !== null && textElement('p', about, { class: 'about' }),
    ...partsHtml(parts, Math.min(6, level + 1)),
  ];
  if (isFolded === true)
    return element('details', { class: 'more' }, element('summary', {}, inlineHtml(title)), content);
  return [element(`h${level}`, {}, inlineHtml(title)), content];
}

/** Titled facts: `<dl>`. */
export const factsHtml = (facts: readonly Fact[]): Child =>
  element(
    'dl',
    { class: 'facts' },
    facts.map(({ title, value, unit }) =>
      element('div', {}, textElement('dt', title), element('dd', {}, cellHtml(value, { unit, isCode: false }))),
    ),
  );

function cellHtml(value: Cell, { unit, isCode }: Pick<TableColumn, 'unit' | 'isCode'>): Child {
  if (value === null) return text(UNKNOWN);
  if (typeof value === 'number') return text(formatValue(value, unit));
  if (typeof value === 'boolean') return text(value ? 'yes' : 'no');
  if (isCode && typeof value === 'string') return textElement('code', value);
  return inlineHtml(value);
}

/** Classes of the sequential scale: `q0` to `q8`. */
const STEPS = 9;

/** `shade`: from 0 to 1. */
export const shadeClass = (shade: number): string => `q${Math.min(STEPS - 1, Math.floor(STEPS * Math.max(0, shade)))}`;

function cellShade(value: Cell): string | null {
  if (value === null || typeof value !== 'object') return null;
  const figure = piecesOf(value as Text).find((piece) => typeof piece === 'object' && 'value' in piece);
  const { shade } = (figure ?? {}) as { readonly shade?: number };
  return shade === undefined ? null : shadeClass(shade);
}

/** The only figure of a cell. */
function bytesOf(value: Cell, unit: Unit | null): number | null {
  if (typeof value === 'number') return isBytes(unit) ? value : null;
  if (value === null || typeof value !== 'object') return null;
  const pieces = piecesOf(value as Text);
  const [piece] = pieces;
  return pieces.length === 1 && typeof piece === 'object' && 'value' in piece && isBytes(piece.unit)
    ? piece.value
    : null;
}

export function tableHtml({ caption, columns, rows, notes }: Table): SafeHtml {
  const head = columns.map(({ title, align }) =>
    textElement('th', title, { scope: 'col', class: align === 'left' ? 'w' : null }),
  );
  const last = columns.findLastIndex(({ align }) => align === 'left');
  const body = rows.map(({ cells, under, kind }) =>
    element(
      'tr',
      { class: kind },
      cells.map((value, i) => {
        const column = columns[i]!;
        const size = bytesOf(value, column.unit);
        const below = i !== last ? [] : under.map((one) => element('div', { class: 'muted' }, inlineHtml(one)));
        const content = size !== null ? text(cellText(value, column)) : cellHtml(value, column);
        const attributes = { class: cellShade(value) ?? (column.align === 'left' ? 'w' : null), 'data-bytes': size };
        return element('td', attributes, column.unit === 'share' && shareBar(value), content, below);
      }),
    ),
  );
  return element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      {},
      caption !== null && textElement('caption', caption),
      element('thead', {}, element('tr', {}, head)),
      element('tbody', {}, body),
    ),
    notes.map((one) => element('p', { class: 'note' }, inlineHtml(one))),
  );
}

/** Width: a share of 1. */
function shareBar(value: Cell): Child {
  if (typeof value !== 'number') return null;
  const width = Math.max(0, Math.min(100, 100 * value));
  return element(
    'svg',
    { class: 'share', width: 60, height: 8, 'aria-hidden': 'true' },
    element('rect', { class: 'track', width: '100%', height: '100%' }),
    element('rect', { class: 'fill', width: `${Number(width.toFixed(2))}%`, height: '100%' }),
  );
}

function barHtml(bar: Bar): Child {
  const { total, when } = bar;
  return element(
    'div',
    { class: 'account' },
    element(
      'p',
      { class: 'account-title' },
      textElement('b', formatBytes(total), { 'data-bytes': total }),
      text(when === '' ? '' : ` ${when}`),
    ),
    barDrawing(bar),
  );
}

/**
 * Tables of the page. Cells of figures carry the exact value in `data-bytes`, so that a script or a test reads the
 * number that `--json` prints. Pure.
 */
import { formatBytes, formatCount } from '../../model/units.js';
import { countOr, signedBytes, UNKNOWN } from '../text-pieces.js';
import { type Attributes, type Child, element, type SafeHtml, text, textElement } from './html.js';

/** A column with what it shows of a row. */
export interface HtmlColumn<Row> {
  readonly title: string;
  /** Class of its cells: `w` words, `s` short words that are never broken; null: figures. */
  readonly kind: 'w' | 's' | null;
  readonly cell: (row: Row, index: number) => HtmlCell;
}

interface HtmlCell {
  readonly content: Child;
  readonly attributes?: Attributes;
}

type CellOf<Row, Value> = (row: Row, index: number) => Value;

/** A column of words with markup of its own. */
export function markup<Row>(
  title: string,
  cell: CellOf<Row, Child>,
  kind: HtmlColumn<Row>['kind'] = 'w',
): HtmlColumn<Row> {
  return { title, kind, cell: (row, index) => ({ content: cell(row, index) }) };
}

/** A column of words. */
export const words = <Row>(title: string, cell: CellOf<Row, string>, kind?: 's' | null): HtmlColumn<Row> =>
  markup(title, (row, index) => text(cell(row, index)), kind);

/** A column of short words, which stay on one line. */
export const short = <Row>(title: string, cell: CellOf<Row, string>): HtmlColumn<Row> => words(title, cell, 's');

/** A column of texts that are figures in other units than bytes. */
export const figures = <Row>(title: string, cell: CellOf<Row, string>): HtmlColumn<Row> => words(title, cell, null);

/** A column of code: call sites, keys, addresses. */
export const code = <Row>(title: string, cell: CellOf<Row, string | null>): HtmlColumn<Row> =>
  markup(title, (row, index) => {
    const value = cell(row, index);
    return value === null ? text(UNKNOWN) : textElement('code', value);
  });

/** A column of counts. */
export const counts = <Row>(title: string, cell: CellOf<Row, number | null>): HtmlColumn<Row> =>
  figures(title, (row, index) => countOr(cell(row, index)));

/** A column of bytes. */
export function bytes<Row>(
  title: string,
  cell: CellOf<Row, number | null>,
  options: { readonly signed?: boolean; readonly exact?: boolean } = {},
): HtmlColumn<Row> {
  const format = options.exact === true ? formatCount : options.signed === true ? signedBytes : formatBytes;
  return {
    title,
    kind: null,
    cell: (row, index) => {
      const value = cell(row, index);
      if (value === null) return { content: text(UNKNOWN) };
      return { content: text(format(value)), attributes: { 'data-bytes': value } };
    },
  };
}

/** A column of shares of 1 as a bar and a percentage; null: an empty cell. */
export const share = <Row>(title: string, cell: CellOf<Row, number | null>): HtmlColumn<Row> =>
  markup(
    title,
    (row, index) => {
      const value = cell(row, index);
      return value === null ? null : [shareBar(value), text(shareText(value))];
    },
    null,
  );

/** `69.6 %`. */
export const shareText = (value: number): string => `${(100 * value).toFixed(1).replace(/^-(0\.0)$/, '$1')} %`;

/** Width: `value` of 1. */
export function shareBar(value: number): SafeHtml {
  const width = Math.max(0, Math.min(100, 100 * value));
  return element(
    'svg',
    { class: 'share', width: 60, height: 8, 'aria-hidden': 'true' },
    element('rect', { class: 'track', width: '100%', height: '100%' }),
    element('rect', { class: 'fill', width: `${Number(width.toFixed(2))}%`, height: '100%' }),
  );
}

export interface TableLook<Row> {
  /** What the table shows, for a screen reader and for print. */
  readonly caption: string;
  /** After the caption. */
  readonly link?: Child;
  /** The class of a row, such as `sum`; null: none. */
  readonly rowClass?: (row: Row, index: number) => string | null;
  /** Below the table, e.g. how many rows are left out. */
  readonly note?: string | null;
}

/** Nothing without rows. A column that is false is left out. */
export function htmlTable<Row>(
  rows: readonly Row[],
  columns: readonly (HtmlColumn<Row> | false)[],
  { caption, link, rowClass, note }: TableLook<Row>,
): SafeHtml | null {
  if (rows.length === 0) return null;
  const shown = columns.filter((column) => column !== false);
  const head = shown.map(({ title, kind }) => textElement('th', title, { scope: 'col', class: kind }));
  const body = rows.map((row, index) =>
    element(
      'tr',
      { class: rowClass?.(row, index) },
      shown.map(({ cell, kind }) => {
        const { content, attributes } = cell(row, index);
        return element('td', { class: kind, ...attributes }, content);
      }),
    ),
  );
  const table = element(
    'table',
    {},
    element('caption', {}, text(caption), link),
    element('thead', {}, element('tr', {}, head)),
    element('tbody', {}, body),
  );
  return element(
    'div',
    { class: 'scroll' },
    table,
    note !== null && note !== undefined && textElement('p', note, { class: 'note' }),
  );
}

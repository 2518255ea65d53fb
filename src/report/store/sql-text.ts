/** Rows of a query in the formats of `mbforensics sql --format`. */
import { visibleJson, visibleLines } from '../../model/escape-controls.js';
import { maxOf } from '../../model/lists.js';
import type { SqlLibraryResult, SqlResult } from '../../model/results/common.js';
import { column, type Document, document, paragraph, table } from '../document/document.js';
import { wrap } from '../plain-text.js';

export const SQL_FORMATS = ['table', 'json', 'jsonl', 'csv'] as const;

/** Every object of the library with its columns. */
export function sqlLibraryText({ objects }: SqlLibraryResult): string {
  return objects
    .map(({ name, kind, title, why, parameters, columns }) => {
      const call = kind !== 'macro' ? name : `${name}(${parameters.map((one) => one.name).join(', ')})`;
      const fields = [...parameters.map((one) => ({ ...one, nullable: false })), ...columns];
      const wide = maxOf(fields.map((one) => one.name.length));
      const line = (one: (typeof fields)[number]): string =>
        `  ${one.name.padEnd(wide)}  ${`${one.type}${one.nullable ? '?' : ''}`.padEnd(9)}  ${one.text}`.trimEnd();
      const inputs = parameters.map((one) => line({ ...one, nullable: false }));
      return [
        `${call} · ${kind}`,
        `  ${title}.`,
        ...(why === '' ? [] : wrap(`  ${why}`, 100, '  ')),
        ...(inputs.length === 0 ? [] : ['  takes', ...inputs, '  gives']),
        ...columns.map(line),
      ].join('\n');
    })
    .join('\n\n')
    .concat('\n');
}

/** A library object is shown to people; the rows of a query are whole in a pipe. */
export const sqlDocument = ({ schema, columns, rows, truncated }: SqlResult): Document =>
  document(
    schema,
    '',
    table(
      rows,
      columns.map(({ name, type }, i) =>
        column(name, (row: readonly unknown[]) => (row[i] === null ? null : cellText(row[i])), {
          title: name,
          align: /INT|DOUBLE|FLOAT|DECIMAL/.test(type) ? 'right' : 'left',
        }),
      ),
      { key: 'rows', notes: [truncated && 'more rows were left out; --limit 0 prints all'] },
    ) ?? paragraph(columns.map(({ name }) => name).join('  ')),
  );

/**
 * RFC 4180: quoted where needed, CRLF-free, NULL as the empty field. Unless cells are to be `exact`, invisible
 * characters except tabs and line ends are shown as `\u{1b}`, and what a spreadsheet takes for a formula gets a `'` in
 * front, as OWASP recommends.
 */
export function csvLine(cells: readonly unknown[], exact = false): string {
  const fields = cells.map((cell) => {
    const text = cell === null || cell === undefined ? '' : cellText(cell);
    const field = exact || typeof cell === 'number' || typeof cell === 'bigint' ? text : guarded(visibleLines(text));
    return /[",\n\r]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
  });
  return `${fields.join(',')}\n`;
}

/** What a formula begins with, in the forms of wide characters too; a number is none. */
const FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]/;
const NUMBER = /^[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?$/;

function guarded(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

export function jsonLine(columns: readonly { readonly name: string }[], row: readonly unknown[]): string {
  const entries = columns.map((column, i) => [column.name, jsonValue(row[i])] as const);
  return `${visibleJson(JSON.stringify(Object.fromEntries(entries)))}\n`;
}

function jsonValue(value: unknown): unknown {
  if (typeof value !== 'bigint') return value ?? null;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function cellText(cell: unknown): string {
  return typeof cell === 'object' ? JSON.stringify(cell, (_key, part: unknown) => jsonValue(part)) : String(cell);
}

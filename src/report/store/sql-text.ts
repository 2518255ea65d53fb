/** Rows of a query in the formats of `mbforensics sql --format`. */
import type { SqlResult } from '../../model/results/common.js';
import { table } from '../table.js';

export const SQL_FORMATS = ['table', 'json', 'jsonl', 'csv'] as const;
export type SqlFormat = (typeof SQL_FORMATS)[number];

export function sqlTable(result: SqlResult): string {
  const columns = result.columns.map((column) => ({
    title: column.name,
    align: /INT|DOUBLE|FLOAT|DECIMAL/.test(column.type) ? ('right' as const) : ('left' as const),
  }));
  const rows = result.rows.map((row) => row.map((cell) => (cell === null ? null : cellText(cell))));
  const more = result.truncated ? `\nmore rows were left out; --limit 0 prints all\n` : '\n';
  return `${table(columns, rows)}${more}`;
}

/** RFC 4180: quoted where needed, CRLF-free, NULL as the empty field. */
export function csvLine(cells: readonly unknown[]): string {
  const fields = cells.map((cell) => {
    const text = cell === null || cell === undefined ? '' : cellText(cell);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${fields.join(',')}\n`;
}

export function jsonLine(columns: readonly { readonly name: string }[], row: readonly unknown[]): string {
  const entries = columns.map((column, i) => [column.name, jsonValue(row[i])] as const);
  return `${JSON.stringify(Object.fromEntries(entries))}\n`;
}

function jsonValue(value: unknown): unknown {
  if (typeof value !== 'bigint') return value ?? null;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

function cellText(cell: unknown): string {
  return typeof cell === 'object' ? JSON.stringify(cell, (_key, part: unknown) => jsonValue(part)) : String(cell);
}

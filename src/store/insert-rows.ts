/**
 * The way into small tables: rows as records, written column-wise in chunks. For the large ones see
 * `column-appender.ts`.
 */
import type { DuckDBAppender } from '@duckdb/node-api';
import { bindings as duckdb } from './duckdb.js';
import { camelCase } from './schema.js';
import { newChunk, type TableColumn } from './table-columns.js';
import { type CellValue, toDuckDB } from './to-duckdb.js';

const VECTOR_ROWS = duckdb.vector_size();

/**
 * Appends `rows` in order; a key is the name of a column, or that in camelCase. A column that a row does not name
 * becomes NULL; a key without a column throws, because its fact would be silently lost. Flushes; the caller closes
 * `appender`.
 */
export function insertRows(
  table: string,
  columns: readonly TableColumn[],
  appender: DuckDBAppender,
  rows: readonly Readonly<Record<string, CellValue>>[],
): void {
  const named = columns.map(({ name, type }) => ({ name, type, field: camelCase(name) }));
  const known = new Set(named.flatMap(({ name, field }) => [name, field]));
  for (let start = 0; start < rows.length; start += VECTOR_ROWS) {
    const part = rows.slice(start, start + VECTOR_ROWS);
    for (const row of part) {
      for (const key of Object.keys(row)) if (!known.has(key)) throw new Error(`${table} has no column ${key}`);
    }
    // A new chunk each time: strings live in the heap of their chunk, which a reused one would only grow.
    const chunk = newChunk(columns);
    chunk.setColumns(
      named.map(({ name, type, field }) =>
        part.map((row) => toDuckDB(row[name in row ? name : field], type, `${table}.${name}`)),
      ),
    );
    appender.appendDataChunk(chunk);
  }
  appender.flushSync();
}

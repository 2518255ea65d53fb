/** From a finished result to row objects. */
import type { DuckDBMaterializedResult, DuckDBResult } from '@duckdb/node-api';
import { MbfError } from '../model/errors.js';
import { fromDuckDB, type StoreValue } from './from-duckdb.js';
import type { QueryFile } from './query-file.js';

/**
 * A column's type in a header, checked on every value: a NULL in a column without `?` would contradict the generated
 * types.
 */
export interface ColumnCheck {
  readonly where: string;
  readonly nullable: boolean;
  readonly rounded: boolean;
}

export function columnChecks(query: QueryFile, result: DuckDBResult): readonly (ColumnCheck | undefined)[] {
  return result.columnNames().map((name) => {
    const field = query.columns.find((column) => column.name === name);
    return field && { where: `${query.name}.${name}`, nullable: field.nullable, rounded: field.type === 'BIGINT' };
  });
}

/** All rows as objects. With `checks`, a value that breaks its header's promise is MBF9001. */
export async function collectRows(
  result: DuckDBMaterializedResult,
  checks: readonly (ColumnCheck | undefined)[],
): Promise<Record<string, StoreValue>[]> {
  const names = result.columnNames();
  const rows: Record<string, StoreValue>[] = [];
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return rows;
    const vectors = names.map((_, index) => chunk.getColumnVector(index));
    for (let row = 0; row < chunk.rowCount; row += 1) {
      const record: Record<string, StoreValue> = {};
      for (let index = 0; index < names.length; index += 1) {
        record[names[index]!] = checked(fromDuckDB(vectors[index]!.getItem(row)), checks[index]);
      }
      rows.push(record);
    }
  }
}

function checked(value: StoreValue, check: ColumnCheck | undefined): StoreValue {
  if (check === undefined) return value;
  if (value === null && !check.nullable) throw new MbfError('MBF9001', `${check.where} is NULL against its header`);
  return check.rounded && typeof value === 'bigint' ? Number(value) : value;
}

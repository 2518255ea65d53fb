/** The columns of a table as the store has them, in order: what appenders must match and small rows are typed by. */
import type { DuckDBConnection, DuckDBType } from '@duckdb/node-api';

export interface TableColumn {
  readonly name: string;
  readonly type: DuckDBType;
}

/** ENUM types include their labels. Throws DuckDB's Catalog Error if the table does not exist. */
export async function readTableColumns(
  connection: DuckDBConnection,
  table: string,
  schema = 'main',
): Promise<readonly TableColumn[]> {
  const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
  const prepared = await connection.prepare(`FROM ${quoted(schema)}.${quoted(table)}`);
  try {
    return Array.from({ length: prepared.columnCount }, (_, index) => ({
      name: prepared.columnName(index),
      type: prepared.columnType(index),
    }));
  } finally {
    prepared.destroySync();
  }
}

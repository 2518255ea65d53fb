/** The columns of a table as the store has them, in order: what appenders must match and small rows are typed by. */
import type { DuckDBAppender, DuckDBConnection, DuckDBDataChunk, DuckDBType } from '@duckdb/node-api';
import { bindings as duckdb, DuckDBDataChunk as NewChunk } from './duckdb.js';
import { schemaTables } from './load-queries.js';

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

/** Of tables of the schema, which every store has as this build makes them. */
const OF_SCHEMA = new Map<string, readonly TableColumn[]>();

/** The columns of the table of an appender, if it is one of the schema: nothing is asked of the store. */
export function schemaColumns(table: string, appender: DuckDBAppender): readonly TableColumn[] | undefined {
  const known = OF_SCHEMA.get(table);
  if (known !== undefined) return known;
  const names = schemaTables()
    .find(({ name }) => name === table)
    ?.columns.filter(({ isGenerated }) => !isGenerated);
  if (names === undefined || names.length !== appender.columnCount) return undefined;
  const columns = names.map(({ name }, index) => ({ name, type: appender.columnType(index) }));
  OF_SCHEMA.set(table, columns);
  return columns;
}

/** The library's form of types, which takes as long to make as to fill a small chunk. */
const LOGICAL = new WeakMap<readonly TableColumn[], Parameters<typeof duckdb.create_data_chunk>[0]>();

/** An empty chunk of rows of a table. */
export function newChunk(columns: readonly TableColumn[]): DuckDBDataChunk {
  let types = LOGICAL.get(columns);
  if (types === undefined) {
    types = columns.map(({ type }) => type.toLogicalType().logical_type);
    LOGICAL.set(columns, types);
  }
  return new NewChunk(duckdb.create_data_chunk(types));
}

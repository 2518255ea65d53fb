/**
 * The schema of a store: the tables of `queries/schema/*.sql`, in one version. Each table has a line `-- what a row is`
 * before it, and each of its columns `-- what it is, unit` behind it; a store has them as comments, for any client.
 * No column of a table that is filled by columns is NOT NULL: those that may be NULL are marked with NULL. One that
 * has numbers of `text_value` is marked `-- @text`. What is nearly the same in another column is stored as the
 * difference, and GENERATED for queries: columns of equal values take no space.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { schemaSql, schemaTables } from './load-queries.js';
import { readStoredTables, type StoredTables } from './stored-tables.js';

/**
 * Raised whenever a table changes, or the same trace would derive to other lifetimes: a store of another version is
 * refused, since its files can be ingested again. Builds before the first release had 1 to 18.
 */
export const SCHEMA_VERSION = 22;

const VERSION_TABLE = 'mbforensics_schema';

/** `foreign`: a DuckDB file with foreign tables. Version 0 is an empty database. */
export type SchemaState =
  | { readonly kind: 'foreign' }
  | { readonly kind: 'ours'; readonly version: number; readonly tables: StoredTables };

async function scalar(connection: DuckDBConnection, sql: string): Promise<unknown> {
  const reader = await connection.runAndReadAll(sql);
  return reader.getRows()[0]?.[0];
}

export async function readSchemaState(connection: DuckDBConnection): Promise<SchemaState> {
  const tables = await readStoredTables(connection);
  const marked = /\("?version"? INTEGER\b/.test(tables.get(VERSION_TABLE)?.sql ?? '');
  if (!marked) {
    const objects = await scalar(
      connection,
      `SELECT (SELECT count(*) FROM system.main.duckdb_tables() WHERE NOT internal)
         + (SELECT count(*) FROM system.main.duckdb_views() WHERE NOT internal)
         + (SELECT count(*) FROM system.main.duckdb_sequences())`,
    );
    return Number(objects) === 0 ? { kind: 'ours', version: 0, tables } : { kind: 'foreign' };
  }
  const version = await scalar(connection, `SELECT coalesce(max(version), 0) FROM ${VERSION_TABLE}`);
  return { kind: 'ours', version: Number(version), tables };
}

/** Makes the tables in an empty database, in one transaction. */
export async function makeTables(connection: DuckDBConnection): Promise<void> {
  const comments = schemaTables().flatMap(({ name, title, columns }) => [
    `COMMENT ON TABLE ${name} IS ${quotedText(title)}`,
    ...columns.map((column) => `COMMENT ON COLUMN ${name}.${column.name} IS ${quotedText(column.text)}`),
  ]);
  const version = `INSERT INTO ${VERSION_TABLE} VALUES (${SCHEMA_VERSION})`;
  await connection.run(['BEGIN', schemaSql(), version, ...comments, 'COMMIT'].join(';\n'));
}

/** The name by which code has a column. */
export const camelCase = (column: string): string =>
  column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** As a literal of SQL. */
export const quotedText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

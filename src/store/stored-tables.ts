/** The tables that a store has, as DuckDB describes them. Runs nothing that the store defines. */
import type { DuckDBConnection } from '@duckdb/node-api';

export interface StoredTable {
  /** `CREATE TABLE ...`, in DuckDB's own wording: columns, types with the labels of ENUMs, constraints, defaults. */
  readonly sql: string;
  readonly indexes: number;
}

/** Of the schema `main`, by name. */
export type StoredTables = ReadonlyMap<string, StoredTable>;

/** Takes 5 ms. */
export async function readStoredTables(connection: DuckDBConnection): Promise<StoredTables> {
  const reader = await connection.runAndReadAll(
    `SELECT table_name, "sql", index_count FROM system.main.duckdb_tables()
     WHERE schema_name = 'main' AND NOT "temporary" AND NOT internal`,
  );
  return new Map(
    reader.getRows().map(([name, sql, indexes]) => [String(name), { sql: String(sql), indexes: Number(indexes) }]),
  );
}

/**
 * Has a connection find the functions of DuckDB before those that the store defines: a macro named `count`, or `+`,
 * would be called by our queries. Nothing but TEMP objects can be created with it. Returns the statement, for further
 * connections. Schemas that are not in the path cannot be named.
 */
export async function shieldFunctions(connection: DuckDBConnection): Promise<string> {
  const reader = await connection.runAndReadAll(
    `SELECT database_name, schema_name FROM system.main.duckdb_schemas()
    WHERE NOT internal OR (schema_name = 'main' AND database_name NOT IN ('system', 'temp'))
    ORDER BY schema_name <> 'main', schema_name`,
  );
  const quoted = (name: unknown): string => `"${String(name).replaceAll('"', '""')}"`;
  const schemas = reader.getRows().map(([database, schema]) => `${quoted(database)}.${quoted(schema)}`);
  const statement = `SET search_path = '${['system.main', ...schemas].join(',').replaceAll("'", "''")}'`;
  await connection.run(statement);
  return statement;
}

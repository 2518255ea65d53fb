/** The tables that a store has, as DuckDB describes them. Runs nothing that the store defines. */
import type { DuckDBConnection } from '@duckdb/node-api';

export interface StoredTable {
  /** `CREATE TABLE ...`, in DuckDB's own wording: columns, types with the labels of ENUMs, constraints, defaults. */
  readonly sql: string;
  readonly indexes: number;
  readonly isEmpty: boolean;
}

/** Of the schema `main`, by name. */
export type StoredTables = ReadonlyMap<string, StoredTable>;

/** Takes 5 ms. */
export async function readStoredTables(connection: DuckDBConnection): Promise<StoredTables> {
  const reader = await connection.runAndReadAll(
    `SELECT table_name, "sql", index_count, estimated_size FROM system.main.duckdb_tables()
     WHERE schema_name = 'main' AND NOT "temporary" AND NOT internal`,
  );
  return new Map(
    reader
      .getRows()
      .map(([name, sql, indexes, rows]) => [
        String(name),
        { sql: String(sql), indexes: Number(indexes), isEmpty: Number(rows) === 0 },
      ]),
  );
}

/**
 * Has a connection find the functions of DuckDB before those that the store defines: a macro named `count`, or `+`,
 * would be called by our queries. Nothing but TEMP objects can be created with it. Returns the name of the database.
 */
export async function shieldFunctions(connection: DuckDBConnection): Promise<string> {
  const reader = await connection.runAndReadAll(
    'SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal',
  );
  const database = String(reader.getRows()[0]![0]);
  await connection.run(searchPath(database));
  return database;
}

/** {@link shieldFunctions} for a further connection. */
export function searchPath(database: string): string {
  const path = `system.main,"${database.replaceAll('"', '""')}".main`;
  return `SET search_path = '${path.replaceAll("'", "''")}'`;
}

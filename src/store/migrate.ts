/** Reading the schema version of a file and bringing it up to date, one step and one transaction at a time. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Migration } from './migrations.js';
import { readStoredTables, type StoredTables } from './stored-tables.js';

/** `foreign`: a DuckDB file with foreign tables. Version 0 is an empty database. */
export type SchemaState =
  | { readonly kind: 'foreign' }
  | { readonly kind: 'ours'; readonly version: number; readonly tables: StoredTables };

const VERSION_TABLE = 'mbforensics_schema';
const VERSION_COLUMNS = 'version INTEGER NOT NULL, title VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL';

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

/**
 * Runs the steps above `from`, in order. Each step and its row in `mbforensics_schema` commit together: a process
 * killed in between leaves a store at the last finished version, and the next opening goes on from there.
 */
export async function migrate(
  connection: DuckDBConnection,
  from: number,
  migrations: readonly Migration[],
): Promise<void> {
  for (const step of migrations) {
    if (step.version <= from) continue;
    await connection.run('BEGIN TRANSACTION');
    try {
      await connection.run(`CREATE TABLE IF NOT EXISTS ${VERSION_TABLE} (${VERSION_COLUMNS})`);
      await connection.run(step.sql);
      await connection.run(
        `INSERT INTO ${VERSION_TABLE} VALUES ($version::INTEGER, $title, make_timestamp($micros::BIGINT))`,
        {
          version: step.version,
          title: step.title,
          micros: BigInt(Date.now()) * 1000n,
        },
      );
      await connection.run('COMMIT');
    } catch (error) {
      // A failed COMMIT has already ended the transaction; the first error is the one to report.
      await connection.run('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }
}

/** Reading the schema version of a file and bringing it up to date, one step and one transaction at a time. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { DuckDBTypeId } from './duckdb.js';
import type { Migration } from './migrations.js';
import { readTableColumns } from './table-columns.js';

/** `foreign`: a DuckDB file with foreign tables. Version 0 is an empty database. */
export type SchemaState = { readonly kind: 'foreign' } | { readonly kind: 'ours'; readonly version: number };

const VERSION_TABLE = 'mbforensics_schema';

async function scalar(connection: DuckDBConnection, sql: string): Promise<unknown> {
  const reader = await connection.runAndReadAll(sql);
  return reader.getRows()[0]?.[0];
}

export async function readSchemaState(connection: DuckDBConnection): Promise<SchemaState> {
  // Not `duckdb_tables()` or `duckdb_columns()`: describing all tables takes 5 and 10 ms.
  const columns = await readTableColumns(connection, VERSION_TABLE).catch((error: Error) => {
    if (error.message.startsWith('Catalog Error')) return [];
    throw error;
  });
  const marked = columns.some(({ name, type }) => name === 'version' && type.typeId === DuckDBTypeId.INTEGER);
  if (!marked) {
    const objects = await scalar(
      connection,
      'SELECT (SELECT count(*) FROM duckdb_tables() WHERE NOT internal) + (SELECT count(*) FROM duckdb_views() WHERE NOT internal) + (SELECT count(*) FROM duckdb_sequences())',
    );
    return Number(objects) === 0 ? { kind: 'ours', version: 0 } : { kind: 'foreign' };
  }
  return {
    kind: 'ours',
    version: Number(await scalar(connection, `SELECT coalesce(max(version), 0) FROM ${VERSION_TABLE}`)),
  };
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
      await connection.run(
        `CREATE TABLE IF NOT EXISTS ${VERSION_TABLE} (version INTEGER NOT NULL, title VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)`,
      );
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

/**
 * Whether the tables of a store are those that its version makes. A store can come from any source: a view under the
 * name of a table runs its author's statement when we ask, and a column of another type breaks our queries.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { MbfError } from '../model/errors.js';
import { DuckDBInstance } from './duckdb.js';
import { libraryObjects } from './install-library.js';
import { migrate } from './migrate.js';
import { MIGRATIONS, SCHEMA_VERSION } from './migrations.js';
import type { StoredTables } from './stored-tables.js';
import { readStoredTables } from './stored-tables.js';

/** The tables of the newest version, as the build wrote them: to make them takes 0.2 s. */
const DESCRIPTION = new URL('../store/new-tables.json', import.meta.url);

const MOST_NAMED = 3;

/**
 * @throws {MbfError} MBF3007 unless every table of schema `version` is there, as a table with the same columns, types
 * and constraints, and without an index. Further tables do not matter.
 */
export async function checkTables(file: string, version: number, tables: StoredTables): Promise<void> {
  if (version === SCHEMA_VERSION && existsSync(DESCRIPTION)) {
    const built = JSON.parse(readFileSync(DESCRIPTION, 'utf8')) as Record<string, string>;
    if (differing(tables, Object.entries(built)).length === 0) return;
  }
  // Asked again of the DuckDB that runs: another version of it may word a definition in another way.
  const names = differing(tables, Object.entries(await definitionsOf(version)));
  if (names.length === 0) return;
  const shown = names.slice(0, MOST_NAMED).join(', ');
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  throw changed(file, `not as schema version ${version} makes it: table ${shown}${more}`);
}

function differing(tables: StoredTables, expected: readonly (readonly [string, string])[]): string[] {
  const isSame = (name: string, sql: string): boolean => {
    const table = tables.get(name);
    return table?.sql === sql && table.indexes === 0;
  };
  return expected.filter(([name, sql]) => !isSame(name, sql)).map(([name]) => name);
}

type Definitions = Readonly<Record<string, string>>;
const made = new Map<number, Promise<Definitions>>();

/** The definition of each table of a version, by name. */
export function definitionsOf(version: number): Promise<Definitions> {
  const known = made.get(version) ?? makeTables(version);
  made.set(version, known);
  return known;
}

async function makeTables(version: number): Promise<Definitions> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1', enable_external_access: 'false' });
  try {
    const connection = await instance.connect();
    try {
      const steps = MIGRATIONS.filter((step) => step.version <= version);
      await migrate(connection, 0, steps);
      return Object.fromEntries([...(await readStoredTables(connection))].map(([name, { sql }]) => [name, sql]));
    } finally {
      connection.closeSync();
    }
  } finally {
    instance.closeSync();
  }
}

/**
 * What a store must not have before we write to it, in addition to {@link checkTables}: a macro with the name of a
 * function of DuckDB, which our statements would call instead (readers are protected by their search path, but in its
 * order nothing can be created), and a table with the name of an object of the library.
 *
 * @throws {MbfError} MBF3007
 */
export async function checkForWriting(connection: DuckDBConnection, file: string, tables: StoredTables): Promise<void> {
  const taken = libraryObjects().find(({ name, kind }) => kind !== 'table' && tables.has(name.replace(/^.*\./, '')));
  if (taken !== undefined)
    throw changed(file, `a table has the name of the ${taken.kind} ${taken.name.replace(/^.*\./, '')}`);
  await checkMacros(connection, file);
}

/** @throws {MbfError} MBF3007 where a macro has the name of a function of DuckDB. Takes 30 ms. */
export async function checkMacros(connection: DuckDBConnection, file: string): Promise<void> {
  const reader = await connection.runAndReadAll(
    `SELECT function_name FROM system.main.duckdb_functions() GROUP BY function_name
     HAVING bool_or(internal) AND NOT bool_and(internal) ORDER BY function_name LIMIT 1`,
  );
  const [macro] = reader.getRows();
  if (macro !== undefined) throw changed(file, `a macro has the name of the function ${String(macro[0])}`);
}

export function changed(file: string, fact: string, cause?: unknown): MbfError {
  return new MbfError('MBF3007', fact, { file }, cause);
}

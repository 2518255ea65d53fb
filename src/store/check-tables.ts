/**
 * Whether the tables of a store are those of the schema. A store can come from any source: a view under the
 * name of a table runs its author's statement when we ask, and a column of another type breaks our queries.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { MbfError } from '../model/errors.js';
import { DuckDBInstance } from './duckdb.js';
import { installLibrary, libraryHash, libraryObjects } from './install-library.js';
import { makeTables, SCHEMA_VERSION } from './schema.js';
import type { StoredTables } from './stored-tables.js';
import { readStoredTables } from './stored-tables.js';

/** What a new store has. */
interface Description {
  /** Of the objects of the library. */
  readonly hash: string;
  /** The definition of each table, by name: of the schema, and of the library. */
  readonly schema: Readonly<Record<string, string>>;
  readonly derived: Readonly<Record<string, string>>;
}

/** As the build wrote it: to make the tables takes 0.2 s. */
const DESCRIPTION = new URL('../store/new-tables.json', import.meta.url);

const MOST_NAMED = 3;

/**
 * Whether the objects of the library are of this build; those of another are made anew before they are read.
 *
 * @throws {MbfError} MBF3007 unless every table of the schema, and with this build's library every table of it, is
 * there, as a table with the same columns, types and constraints, and without an index. Further tables do not matter.
 */
export async function checkTables(connection: DuckDBConnection, file: string, tables: StoredTables): Promise<boolean> {
  if (existsSync(DESCRIPTION)) {
    const built = JSON.parse(readFileSync(DESCRIPTION, 'utf8')) as Description;
    const isOf = await differing(connection, tables, built);
    if (isOf.names.length === 0) return isOf.hasLibrary;
  }
  // Asked again of the DuckDB that runs: another version of it may word a definition in another way.
  const { names, hasLibrary } = await differing(connection, tables, await describeTables());
  if (names.length === 0) return hasLibrary;
  const shown = names.slice(0, MOST_NAMED).join(', ');
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  throw changed(file, `not as schema version ${SCHEMA_VERSION} makes it: table ${shown}${more}`);
}

async function differing(
  connection: DuckDBConnection,
  tables: StoredTables,
  { hash, schema, derived }: Description,
): Promise<{ readonly names: readonly string[]; readonly hasLibrary: boolean }> {
  const namesIn = (expected: Readonly<Record<string, string>>): string[] =>
    Object.keys(expected).filter((name) => tables.get(name)?.sql !== expected[name] || tables.get(name)?.indexes !== 0);
  const names = namesIn(schema);
  // Its list is one of these tables.
  if (names.length > 0) return { names, hasLibrary: false };
  const reader = await connection.runAndReadAll('SELECT DISTINCT hash FROM mbforensics_library LIMIT 2');
  const hashes = reader.getRows();
  const hasLibrary = hashes.length === 1 && hashes[0]![0] === hash;
  return { names: hasLibrary ? namesIn(derived) : [], hasLibrary };
}

let described: Promise<Description> | undefined;

export function describeTables(): Promise<Description> {
  described ??= readDescription();
  return described;
}

async function readDescription(): Promise<Description> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1', enable_external_access: 'false' });
  try {
    const connection = await instance.connect();
    try {
      const tables = async (): Promise<[string, string][]> =>
        [...(await readStoredTables(connection))].map(([name, { sql }]) => [name, sql]);
      await makeTables(connection);
      const schema = Object.fromEntries(await tables());
      await installLibrary(connection);
      const derived = Object.fromEntries((await tables()).filter(([name]) => schema[name] === undefined));
      return { hash: libraryHash(), schema, derived };
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

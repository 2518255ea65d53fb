/**
 * The objects of `queries/library/` in a store, so that any DuckDB client of the same version has them. The program
 * itself does not read through them (see `compose-sql.ts`), and gives a user's statement objects of its own: what a
 * stranger's store calls `verdict` is never believed.
 */
import { createHash } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { SqlLibraryResult } from '../model/results/common.js';
import { libraryObjectsOf } from './compose-sql.js';
import { loadLibrary, schemaTables } from './load-queries.js';
import { blankText, type QueryFile } from './query-file.js';
import { quotedText } from './schema.js';

const TABLE = 'mbforensics_library';

/** Every object, each after those it uses. */
export function libraryObjects(): readonly QueryFile[] {
  return libraryObjectsOf([...loadLibrary().names].sort());
}

/** Of all definitions: a store with another hash has objects of another version. */
export function libraryHash(objects: readonly QueryFile[] = libraryObjects()): string {
  const hash = createHash('sha256');
  for (const object of objects) hash.update(definitionsOf(object).join(';\n')).update('\0');
  return hash.digest('hex').slice(0, 32);
}

/** Replaces the objects of another version, in one transaction. The store must be open for writing. */
export async function installLibrary(connection: DuckDBConnection): Promise<void> {
  const objects = libraryObjects();
  const hash = libraryHash(objects);
  const reader = await connection.runAndReadAll(`SELECT hash, kind, name FROM ${TABLE}`);
  const installed = reader.getRows().map(([of, kind, name]) => ({ hash: of, kind: String(kind), name: String(name) }));
  if (installed.length >= objects.length && installed.every((one) => one.hash === hash)) return;
  await connection.run('BEGIN TRANSACTION');
  try {
    // The list may be a stranger's: neither its words nor the tables of the schema that it names are dropped.
    const kept = new Set(schemaTables().map((table) => table.name));
    for (const { kind, name } of installed.reverse()) {
      const dropped = kind === 'macro' ? 'MACRO TABLE' : kind === 'table' ? 'TABLE' : 'VIEW';
      if (!kept.has(name.toLowerCase())) await connection.run(`DROP ${dropped} IF EXISTS ${quoted(name)}`);
    }
    await connection.run(`DELETE FROM ${TABLE}`);
    // Tables of the library are empty now: every run is to be derived again.
    await connection.run('UPDATE judged_run SET rules = 0');
    for (const object of objects) {
      for (const statement of definitionsOf(object)) await connection.run(statement);
      const rows = [{ kind: object.kind!, name: nameOf(object) }];
      if (object.kind === 'table') rows.push({ kind: 'view', name: `rule_${nameOf(object)}` });
      for (const row of rows)
        await connection.run(`INSERT INTO ${TABLE} VALUES ($hash, $kind, $name, $title)`, {
          ...{ hash, title: object.title, ...row },
        });
    }
    await connection.run('COMMIT');
  } catch (error) {
    await connection.run('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Objects of the library as a user reads them, by name; with a name, that one, or a table of the schema. */
export function describeLibrary(only?: string): SqlLibraryResult {
  const objects = libraryObjects().map(({ kind, title, why, params, columns, ...object }) => ({
    name: nameOf(object),
    kind: kind!,
    title,
    why,
    parameters: params.map(({ name, type, text }) => ({ name, type, text })),
    columns: columns.map(({ name, type, nullable, text }) => ({ name, type, nullable, text })),
  }));
  const tables = only === undefined ? [] : schemaTables();
  const known = [...objects, ...tables.map((table) => ({ ...table, kind: 'table' as const, why: '', parameters: [] }))];
  const shown = only === undefined ? known : known.filter(({ name }) => name === only);
  return { schema: 'mbforensics/sql-library@1', objects: shown.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** Gives the connection the objects that a user's statement may name, as TEMP ones of this version. */
export async function provideLibrary(connection: DuckDBConnection, statement: string): Promise<void> {
  const words = blankText(statement).match(/[A-Za-z_]\w*/g) ?? [];
  for (const object of libraryObjectsOf(words))
    if (object.kind !== 'table') await connection.run(definitionOf(object, 'OR REPLACE TEMP'));
}

/** A TEMP table instead of a derived one. */
export function temporaryTable(object: QueryFile): string {
  const columns = object.columns.map(({ name, type }) => `${name} ${type}`);
  return `CREATE OR REPLACE TEMP TABLE ${nameOf(object)} (${columns.join(', ')})`;
}

/** As the store has it. */
function definitionsOf(object: QueryFile): string[] {
  const definition = definitionOf(object, '');
  if (object.kind !== 'table') return [definition];
  const name = nameOf(object);
  return [
    temporaryTable(object).replace('OR REPLACE TEMP ', ''),
    `COMMENT ON TABLE ${name} IS ${quotedText(object.title)}`,
    ...object.columns.flatMap((column) =>
      column.text === '' ? [] : [`COMMENT ON COLUMN ${name}.${column.name} IS ${quotedText(column.text)}`],
    ),
    definition,
  ];
}

/** A view or macro; of a table its rule, named `rule_NAME`. `how`: `OR REPLACE`, `TEMP`. */
export function definitionOf(object: QueryFile, how: string): string {
  const name = quoted(nameOf(object));
  if (object.kind === 'macro') {
    const parameters = object.params.map((param) => param.name).join(', ');
    return `CREATE ${how} MACRO ${name}(${parameters}) AS TABLE\n${object.statement}`;
  }
  const view = object.kind === 'table' ? quoted(`rule_${nameOf(object)}`) : name;
  return `CREATE ${how} VIEW ${view} AS\n${object.statement}`;
}

const nameOf = (object: Pick<QueryFile, 'name'>): string => object.name.split('.')[1]!;
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

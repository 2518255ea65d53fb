/**
 * Finding query files under the package root, whether the code runs from `src/`, from `dist/src/`, or from an installed
 * package.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  LIBRARY_TOPIC,
  parseQueryFile,
  pathOfQueryName,
  type QueryField,
  type QueryFile,
  queryNameOfPath,
} from './query-file.js';

/** The nearest directory above this file that is our package: compiled code is one level deeper than sources. */
export function packageRoot(): string {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
      if ((manifest as { name?: unknown } | null)?.name === 'mbforensics') return directory;
    } catch {
      // No package.json here, or a stranger's.
    }
    if (dirname(directory) === directory) throw new Error('the package root of mbforensics was not found');
  }
}

let queriesRoot: string | undefined;
const cache = new Map<string, QueryFile>();

/** One query by name; only its own file is read, since a verb needs few of them and start-up time is felt. */
export function loadQuery(name: string): QueryFile {
  const known = cache.get(name);
  if (known !== undefined) return known;
  queriesRoot ??= join(packageRoot(), 'queries');
  const path = pathOfQueryName(name);
  const query = parseQueryFile(path, readFileSync(join(queriesRoot, path), 'utf8'), tableColumns);
  cache.set(name, query);
  return query;
}

/** Of `queries/`: the tables, which are not queries; see `schema.ts`. */
const SCHEMA_FOLDER = 'schema';

export function schemaSql(): string {
  const folder = join(packageRoot(), 'queries', SCHEMA_FOLDER);
  const files = readdirSync(folder).sort();
  return files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
}

/** The ENUM types and their labels. */
export const schemaEnums = (): (readonly [name: string, values: readonly string[]])[] =>
  [...schemaSql().matchAll(/^CREATE TYPE (\w+) AS ENUM \(([^)]*)\);/gm)].map(([, name, values]) => [
    name!,
    [...values!.matchAll(/'(\w+)'/g)].map(([, value]) => value!),
  ]);

/**
 * The tables with what a row and a column of each is, in the order of their files. `isNull`: of a column that may be
 * NULL in a table without constraints. `isText`: of the number of a text, marked with @text. `isGenerated`: computed
 * from others when it is read, so nothing is written into it.
 */
export function schemaTables() {
  tables ??= readTables();
  return tables;
}

let tables: ReturnType<typeof readTables> | undefined;

function readTables() {
  return [...schemaSql().matchAll(/^-- (.*)\nCREATE TABLE (\w+) \(\n([\s\S]*?)\n\);/gm)].map(
    ([, title, name, columns]) => ({
      name: name!,
      title: title!,
      columns: [
        ...columns!.matchAll(/^ {2}(\w+) (.*?)( GENERATED ALWAYS AS .*?)?( NOT NULL| NULL)?,? -- (@text )?(.*)$/gm),
      ].map(([, column, type, generated, constraint, mark, text]) => ({
        name: column!,
        type: type!,
        isGenerated: generated !== undefined,
        nullable: constraint !== ' NOT NULL',
        isNull: constraint === ' NULL',
        isText: mark !== undefined,
        text: text!,
      })),
    }),
  );
}

/** The columns of a table of the schema, or of an object of the library, as a header has them. */
function tableColumns(table: string): readonly QueryField[] | undefined {
  const known = schemaTables().find(({ name }) => name === table);
  const byColumns = known?.columns.every(({ nullable }) => nullable);
  return (
    known?.columns.map(({ name, type, nullable, isNull, text }) => ({
      ...{ name, text, nullable: byColumns === true ? isNull : nullable },
      // A type of our own.
      type: /^[a-z]/.test(type) ? 'ENUM' : type,
    })) ?? loadLibrary().get(table)?.columns
  );
}

/** Of `queries/`: questions about a lake, which name other tables than a store has. */
export const LAKE_FOLDER = 'lake';

/** Every query about a store, private ones too, in order of name. */
export function loadAllQueries(root: string = join(packageRoot(), 'queries')): readonly QueryFile[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter(
      (path) => path.endsWith('.sql') && ![SCHEMA_FOLDER, LAKE_FOLDER].some((folder) => path.startsWith(`${folder}/`)),
    )
    .map((path) => parseQueryFile(path, readFileSync(join(root, path), 'utf8'), tableColumns))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Objects of `queries/library/` by their names in the store, read when they are asked for. */
export interface Library {
  readonly names: ReadonlySet<string>;
  get(name: string): QueryFile | undefined;
}

let library: Library | undefined;

export function loadLibrary(): Library {
  if (library === undefined) {
    const topic = LIBRARY_TOPIC.slice(0, -1);
    const files = readdirSync(join(packageRoot(), 'queries', topic)).filter((file) => file.endsWith('.sql'));
    const names = new Set(files.map((file) => queryNameOfPath(`${topic}/${file}`).slice(LIBRARY_TOPIC.length)));
    const get: Library['get'] = (name) => (names.has(name) ? loadQuery(`${LIBRARY_TOPIC}${name}`) : undefined);
    library = { names, get };
  }
  return library;
}

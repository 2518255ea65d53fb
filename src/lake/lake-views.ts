/**
 * The statements that make a lake a database for DuckDB: the schema `lake` has the files as they are, as other engines
 * read them; `main` has the tables of a store, in its types, and the analysis library over them.
 */
import { libraryObjectsOf } from '../store/compose-sql.js';
import { definitionOf, libraryObjects } from '../store/install-library.js';
import { schemaEnums, schemaTables } from '../store/load-queries.js';
import type { QueryFile } from '../store/query-file.js';
import { quotedText } from '../store/schema.js';
import { tablesWithFiles } from './lake-files.js';
import { FOLDERS, fileColumns, type LakeTable, lakeTables, RUN_SUMMARY } from './lake-tables.js';
import { hashed } from './table-rows.js';

/** The files of some tables as they are, for a statement that names no others: what other engines see. */
export function fileViews(lake: string, names: readonly string[]): string[] {
  const filled = tablesWithFiles(lake, names);
  return lakeTables()
    .filter(({ name }) => names.includes(name))
    .map((table) => `CREATE VIEW ${table.name} AS ${filled.has(table.name) ? filesOf(lake, table) : noRows(table)}`);
}

/** `lake`: an absolute path. With `statement`, only what that may name: making all takes a second of a large lake. */
export function lakeViews(lake: string, statement?: string): string[] {
  const tables = lakeTables();
  const filled = tablesWithFiles(lake);
  const nameOf = ({ name }: { readonly name: string }): string => name.slice(name.indexOf('.') + 1);
  const words = statement?.match(/[A-Za-z_]\w*/g)?.map((word) => word.toLowerCase());
  const objects = words === undefined ? libraryObjects() : libraryObjectsOf(words);
  const named = new Set([
    ...(words ?? []),
    ...objects.flatMap(({ statement: text }) => text.match(/[a-z_]\w*/g) ?? []),
  ]);
  const isNamed = ({ name }: { readonly name: string }): boolean => words === undefined || named.has(name);
  const ofStore = tables.filter(({ name }) => name !== RUN_SUMMARY);
  const views = new Set(
    libraryObjects()
      .filter(({ kind }) => kind !== 'table')
      .map(nameOf),
  );
  // Rows of a view that are kept outlive what it is made of.
  const kept = ofStore.filter((table) => filled.has(table.name) || !views.has(table.name));
  const keptNames = new Set(kept.map(({ name }) => name));
  const unwritten = schemaTables().filter(
    ({ name }) => name !== 'run' && !ofStore.some((table) => table.name === name),
  );
  const enums = schemaEnums().map(
    ([name, values]) => `CREATE TYPE ${name} AS ENUM (${values.map(quotedText).join(', ')})`,
  );
  const definition = (object: QueryFile): string =>
    object.kind === 'table' ? `CREATE VIEW ${nameOf(object)} AS\n${object.statement}` : definitionOf(object, '');
  return [
    'CREATE SCHEMA lake',
    ...enums,
    ...tables
      .filter((table) => isNamed(table) || (table.name === RUN_SUMMARY && named.has('run')))
      .map(
        (table) => `CREATE VIEW lake.${table.name} AS ${filled.has(table.name) ? filesOf(lake, table) : noRows(table)}`,
      ),
    ...(isNamed({ name: 'run' }) ? [`CREATE VIEW run AS ${RUNS}`] : []),
    ...unwritten.filter(isNamed).map(({ name, columns }) => `CREATE VIEW ${name} AS ${empty(columns)}`),
    ...kept.filter(isNamed).map((table) => `CREATE VIEW ${table.name} AS ${storeRows(table)}`),
    ...objects.filter((object) => !keptNames.has(nameOf(object))).map(definition),
  ];
}

const empty = (columns: readonly { readonly name: string; readonly type: string }[]): string =>
  `SELECT ${columns.map(({ name, type }) => `NULL::${type} AS ${name}`).join(', ')} WHERE false`;

const noRows = (table: LakeTable): string => empty(fileColumns(table));

/** Names only columns that this version knows: files of another may have more. */
function filesOf(lake: string, table: LakeTable): string {
  const files = quotedText(`${lake}/${table.name}/run=*/rank_block=*/part-*.parquet`);
  const types = `hive_partitioning = true, hive_types = {${FOLDERS.map(({ name, type }) => `'${name}': ${type}`).join(', ')}}`;
  return `SELECT ${fileColumns(table)
    .map(({ name }) => name)
    .join(', ')} FROM read_parquet(${files}, ${types})`;
}

/** The key of a run, from the name of its folder. */
const RUN_ID = hashed('run');

const RUNS = `SELECT DISTINCT ${RUN_ID} AS run_id, run AS name, label, commit_sha, root_path,
  NULL::TIMESTAMP AS created_at, NULL::TIMESTAMP AS touched_at FROM lake.run_summary`;

/** The rows of a table as a store has them, once where every block has them. */
function storeRows(table: LakeTable): string {
  const known = new Map(table.columns.map((column) => [column.name, column]));
  const columns = table.storeColumns.map(({ name, type }) => {
    if (name === 'run') return 'run';
    const column = known.get(name);
    if (column === undefined) return `NULL::${type} AS ${name}`;
    return column.key === undefined && column.type !== type ? `${name}::${type} AS ${name}` : name;
  });
  if (table.added.includes('place')) columns.push('place AS rowid');
  const rows = `SELECT ${columns.join(', ')} FROM lake.${table.name}`;
  const task = table.added.includes('task') ? 'task' : 'rank_block';
  if (table.scope === 'run') return `${rows} QUALIFY ${task} = min(${task}) OVER (PARTITION BY run)`;
  if (table.scope !== 'dictionary') return rows;
  const keys = table.name === 'stack_frame' ? 'stack_id, pos' : table.columns[0]!.name;
  return rows.replace('SELECT', `SELECT DISTINCT ON (${keys})`);
}

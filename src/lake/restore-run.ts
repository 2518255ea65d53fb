/**
 * Blocks of a run of a lake as a store again, with what their tasks concluded: rows that a verb asks are read from few
 * blocks, and answers of every rank from all of them.
 */
import { join } from 'node:path';
import { groupBy } from '../model/group-by.js';
import { maxOf } from '../model/lists.js';
import { loadLibrary, schemaTables } from '../store/load-queries.js';
import { quotedText } from '../store/schema.js';
import type { Store } from '../store/store.js';
import { listParts, type Part } from './lake-files.js';
import { type Key, type LakeTable, lakeTables, NUMBERS_PER_BLOCK, RUN_SUMMARY } from './lake-tables.js';

/** Kinds of keys that become numbers of the store, with the table that has them. */
const NUMBERED: readonly (readonly [key: Key, table: string])[] = [
  ['text', 'text_value'],
  ['frame', 'frame'],
  ['stack', 'stack'],
  ['source', 'source'],
  ['snapshot', 'snapshot'],
  ['incident', 'incident'],
];
/** Columns with handles of snapshots, and how the name of the run is written in them. */
const IN_JSON = '(to_json(name)::VARCHAR)[2:-2]';
const NAMING = [
  ['snapshot', 'handle', 'name'],
  ['diagnosis', 'document', IN_JSON],
  ['evidence', 'items', IN_JSON],
] as const;
/** The number of the run in the store. */
export const RESTORED_RUN = 1;

export interface RestoreOptions {
  /** Without symbolic links: the `exchangeDirectory` of the store. */
  readonly lake: string;
  readonly run: string;
  /** The block whose numbers stay as its task had them: its evidence names rows by them. */
  readonly main: number;
  /** Blocks whose state is restored: the main one, and others. */
  readonly blocks: readonly number[];
  readonly now: Date;
}

/** Fills an empty store, in a transaction of its own. The run has the name that the lake gives it. */
export async function restoreRun(store: Store, options: RestoreOptions): Promise<void> {
  const { lake, run, main, blocks, now } = options;
  const tables = lakeTables().filter(isStored);
  const names = [...tables.map(({ name }) => name), RUN_SUMMARY];
  const files = groupBy(listParts(lake, names, run), ({ table }) => table);
  const rowsOf = (table: string): string | undefined => {
    const parts = files.get(table) ?? [];
    const isOfAll = isOfAllBlocks(table);
    const needed = isOfAll ? parts : blocks.flatMap((block) => partsOf(block, parts));
    const paths = [...new Set(needed.map(({ path }) => quotedText(join(lake, path))))];
    if (paths.length === 0) return undefined;
    const rows = `read_parquet([${paths.join(', ')}], hive_partitioning = false)`;
    const { added } = lakeTables().find(({ name }) => name === table)!;
    return isOfAll || !added.includes('task') ? rows : `(SELECT * FROM ${rows} WHERE task IN (${blocks.join(', ')}))`;
  };
  const time = `TIMESTAMP ${quotedText(now.toISOString().slice(0, 19).replace('T', ' '))}`;
  await store.transaction(async () => {
    await store.run(
      `INSERT INTO run SELECT ${RESTORED_RUN}, ${quotedText(run)}, label, commit_sha, root_path, ${time}, ${time}
       FROM ${rowsOf(RUN_SUMMARY)} ORDER BY task <> ${main}, task LIMIT 1`,
    );
    for (const [key, table] of NUMBERED)
      await store.run(`CREATE TEMP TABLE ${key}_map AS ${numbers(key, rowsOf(table), main)}`);
    for (const table of tables) {
      const rows = rowsOf(table.name);
      if (rows !== undefined) await store.run(inserted(table, rows, { main, run, time }));
    }
    // Snapshots are named after their run, also in what was concluded.
    for (const [table, column, name] of NAMING)
      await store.run(
        `UPDATE ${table} SET ${column} = regexp_replace(${column},
           (SELECT regexp_escape(${name}) FROM ${rowsOf(RUN_SUMMARY)} WHERE task = ${main}) || '(/(?:[0-9]+|-)/snapshot#)', ${quotedText(`${run}\\1`)}, 'g')
         WHERE contains(${column}, '/snapshot#')`,
      );
    for (const [key] of NUMBERED) await store.run(`DROP TABLE temp.${key}_map`);
    await store.deriveTable('run_summary', [RESTORED_RUN]);
  });
}

/** Views of the library are computed. */
const isStored = ({ name }: LakeTable): boolean =>
  schemaTables().some((table) => table.name === name) ||
  (name !== RUN_SUMMARY && loadLibrary().get(name)?.kind === 'table');

/** Rows about single ranks that are small, and that screens count. Files of other blocks are not restored. */
const isOfAllBlocks = (name: string): boolean =>
  lakeTables().some((table) => table.name === name && table.level === 'answers' && table.scope === 'rank');

/** Files that may have rows of a block: `lake compact` puts those of following blocks into the folder of the first. */
function partsOf(wanted: number, parts: readonly Part[]): readonly Part[] {
  const folder = maxOf(parts.flatMap(({ block }) => (block <= wanted ? [block] : [])));
  return parts.filter(({ block }) => block === folder);
}

/**
 * Number of each key. Those of the main block keep theirs, which order what is equal; those of the others follow. What
 * several blocks have, such as a stack, has one number.
 */
function numbers(key: Key, rows: string | undefined, main: number): string {
  if (rows === undefined) return 'SELECT 0 AS key, 0 AS number WHERE false';
  const isPlaced = key !== 'text' && key !== 'frame';
  const id = `${key}_id`;
  if (!isPlaced)
    return `SELECT key, row_number() OVER (ORDER BY key)::INTEGER AS number FROM (SELECT DISTINCT ${id} AS key FROM ${rows})`;
  return `WITH keys AS (SELECT ${id} AS key, min(place) FILTER (task = ${main}) AS own, min(place) AS place, min(task) AS task
    FROM ${rows} GROUP BY ${id})
  SELECT key, coalesce(own, (SELECT coalesce(max(own), 0) FROM keys)
    + row_number() OVER (PARTITION BY own IS NULL ORDER BY task, place))::INTEGER AS number FROM keys`;
}

function inserted(
  { name, scope, columns, storeColumns, added }: LakeTable,
  rows: string,
  { main, run, time }: { readonly main: number; readonly run: string; readonly time: string },
): string {
  const joins = new Map<string, string>();
  const known = new Map(columns.map((column) => [column.name, column]));
  const kept = storeColumns.filter((column) => known.get(column.name)?.isGenerated !== true);
  const values = kept.map((column) => {
    const key = known.get(column.name)?.key;
    if (column.name === 'run') return quotedText(run);
    if (known.get(column.name) === undefined) return time;
    if (key === undefined) return `t.${column.name}`;
    if (key === 'run') return String(RESTORED_RUN);
    if (key === 'failure')
      return `t.${column.name} - CASE WHEN t.task = ${main} THEN ${main * NUMBERS_PER_BLOCK} ELSE 0 END`;
    const alias = `of_${column.name}`;
    const isItself = name === NUMBERED.find(([one]) => one === key)?.[1] || column.name === `${scope}_id`;
    joins.set(alias, `${isItself ? '' : 'LEFT '}JOIN ${key}_map AS ${alias} ON ${alias}.key = t.${column.name}`);
    return `${alias}.number`;
  });
  const conditions = scope === 'run' ? [`t.task = ${main}`] : [];
  const isPlaced = added.includes('place') && scope !== 'dictionary';
  const order = isPlaced ? `\nORDER BY t.task <> ${main}, t.task, t.place` : '';
  // Each block has what it uses.
  const from =
    scope === 'dictionary' ? `(SELECT DISTINCT ${columns.map((column) => column.name).join(', ')} FROM ${rows})` : rows;
  return `INSERT INTO ${name} (${kept.map((column) => column.name).join(', ')})
SELECT ${values.join(', ')}
FROM ${from} AS t
${[...joins.values()].join('\n')}${conditions.length === 0 ? '' : `\nWHERE ${conditions.join(' AND ')}`}${order}`;
}

/** Adds a block of a run to a lake: rows of the public tables of its store, as Parquet. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { copyQuery, copyRows } from '../store/copy-rows.js';
import { SCHEMA_VERSION } from '../store/schema.js';
import type { Store } from '../store/store.js';
import type { Block } from './block.js';
import { removeOthers } from './blocks-of-run.js';
import { finishCompaction } from './compact-run.js';
import { type NewPart, newPart, putBlock } from './lake-files.js';
import { type Level, lakeTables, RUN_SUMMARY } from './lake-tables.js';
import { runKey } from './run-key.js';
import { withRunLock } from './run-lock.js';
import { tableRows } from './table-rows.js';

export interface AddOptions {
  /** The directory of the lake, without symbolic links: the store's `exchangeDirectory`. */
  readonly lake: string;
  /** An empty directory in it. */
  readonly work: string;
  readonly block: Block;
  readonly events: boolean;
  /** Removes what was added with another number of blocks. */
  readonly replace: boolean;
  /** Called in turn, with tables written and all tables. */
  readonly progress?: ((done: number, all: number) => void) | undefined;
}

export interface AddedTable {
  readonly table: string;
  readonly level: Level;
  readonly rows: number;
  readonly bytes: number;
}

/** What makes the run another than one of the same name: `id` if it is given, else its place and first time. */
export async function keyOfRun(store: Store, runId: number, id: string | undefined): Promise<string> {
  const { name, root_path: root } = (await store.one('store.runs', { run_id: runId }))!;
  if (id !== undefined) return runKey(name, [name, id]);
  const { started_us: started } = (await store.one('export.start_of_run', { run_id: runId }))!;
  return runKey(name, [root, started]);
}

/**
 * All files are written first, then put into their places: a killed task leaves what it finished, and the next one the
 * rest. The same input makes the same files. MBF1015 if the run has another number of blocks in the lake.
 */
export async function addRun(store: Store, runId: number, run: string, options: AddOptions): Promise<AddedTable[]> {
  const { lake, work, block, events, replace, progress } = options;
  const runs = await store.all('store.runs', { run_id: null });
  const added = { runId, run, block, isOneOfMany: runs.length > 1 };
  const tables = lakeTables().filter(({ name, level }) => name !== RUN_SUMMARY && (events || level !== 'events'));
  const written: AddedTable[] = [];
  const parts: NewPart[] = [];
  const keep = async (table: string, level: Level, file: string, copy: Promise<number>): Promise<void> => {
    const rows = await copy;
    parts.push(await newPart(table, rows === 0 ? undefined : file));
    if (rows > 0) written.push({ table, level, rows, bytes: statSync(file).size });
  };
  for (const [i, table] of tables.entries()) {
    const file = join(work, `${table.name}.parquet`);
    await keep(table.name, table.level, file, copyRows(store, tableRows(table, added), file));
    progress?.(i + 1, tables.length + 1);
  }
  const file = join(work, `${RUN_SUMMARY}.parquet`);
  const { number, of, isLocal } = block;
  const summary = copyQuery(store, file, 'export.run_of_lake', {
    ...{ run_id: runId, block: number, blocks: of, is_local: isLocal, schema_version: SCHEMA_VERSION },
  });
  await keep(RUN_SUMMARY, 'answers', file, summary);
  progress?.(tables.length + 1, tables.length + 1);
  await withRunLock(lake, run, async (touch) => {
    finishCompaction(lake, run);
    await removeOthers(store, { lake, run, block, replace, touch });
    putBlock(lake, run, number, parts, touch);
  });
  return written;
}

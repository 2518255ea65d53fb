/**
 * Puts the small files of a run together: a job array leaves one for each table and block, and engines open each.
 *
 * The new folders `TABLE/run=RUN` are made whole in a hidden directory of the lake, and then each is exchanged for the
 * one that is there: two renames. Both have the same rows, so that a reader sees each table before or after, or for the
 * moment between without the run, and never a row twice. What a killed process left half exchanged, the next writer of
 * the run finishes.
 */
import { copyFileSync, existsSync, linkSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { MbfError } from '../model/errors.js';
import { groupBy } from '../model/group-by.js';
import { sumOf } from '../model/lists.js';
import { MIB } from '../model/units.js';
import { copyRows } from '../store/copy-rows.js';
import { quotedText } from '../store/schema.js';
import type { Store } from '../store/store.js';
import { folderOf, listParts, namesIn, newPart, type Part, tableNames } from './lake-files.js';
import { type LakeTable, lakeTables, RUN_SUMMARY } from './lake-tables.js';
import { withRunLock } from './run-lock.js';

/** Files are not put together beyond this: engines divide their work by files, and a copy needs the space twice. */
const LARGEST_BYTES = 256 * MIB;

export interface Compaction {
  readonly files_before: number;
  readonly files: number;
  readonly before_bytes: number;
  readonly bytes: number;
}

const swapOf = (lake: string, run: string): string => join(lake, `.${run}.compact`);
export const SWAP = /^\.(.+)\.compact$/;

/**
 * Of a run all of whose blocks are whole. `work`: an empty directory of the lake. Undefined where a writer changed the
 * run meanwhile: nothing is changed then.
 */
export async function compactRun(
  store: Store,
  lake: string,
  work: string,
  run: string,
): Promise<Compaction | undefined> {
  await withRunLock(lake, run, () => finishCompaction(lake, run));
  const before = listParts(lake, tableNames(), run);
  const bytesOf = (parts: readonly Part[], root: string): number =>
    sumOf(parts.map(({ path }) => statSync(join(root, path)).size));
  const bytesBefore = bytesOf(before, lake);
  const swap = join(work, 'swap');
  const fresh = join(swap, 'new');
  for (const [name, parts] of groupBy(before, ({ table }) => table)) {
    const groups = groupsOf(lakeTables().find((table) => table.name === name)!, parts, lake);
    if (groups.length === parts.length) continue;
    for (const group of groups) await mergeGroup(store, { lake, work, fresh, run, name, group });
  }
  const merged = listParts(fresh, tableNames(), run);
  const changed = new Set(merged.map(({ table }) => table));
  const after = before.filter(({ table }) => !changed.has(table));
  const result = {
    files_before: before.length,
    files: after.length + merged.length,
    before_bytes: bytesBefore,
    bytes: bytesOf(after, lake) + bytesOf(merged, fresh),
  };
  if (changed.size === 0) return result;
  return withRunLock(lake, run, () => {
    const now = listParts(lake, tableNames(), run);
    if (now.map(({ path }) => path).join() !== before.map(({ path }) => path).join()) return undefined;
    renameSync(swap, swapOf(lake, run));
    finishCompaction(lake, run);
    return result;
  });
}

/** Under the lock of the run. */
export function finishCompaction(lake: string, run: string): void {
  const swap = swapOf(lake, run);
  if (!existsSync(swap)) return;
  const folder = `run=${run}`;
  for (const table of namesIn(join(swap, 'new'))) {
    const [fresh, place, old] = [join(swap, 'new', table, folder), join(lake, table, folder), join(swap, 'old', table)];
    if (!existsSync(fresh)) continue;
    mkdirSync(old, { recursive: true });
    if (existsSync(place)) renameSync(place, join(old, folder));
    renameSync(fresh, place);
  }
  rmSync(swap, { recursive: true });
}

/** Parts that become one, in the order of their blocks. */
function groupsOf({ scope, added }: LakeTable, parts: readonly Part[], lake: string): readonly (readonly Part[])[] {
  // Readers take the rows of the first block that has some; those of another may differ.
  if (scope === 'run' && !added.includes('task') && parts[0]!.table !== RUN_SUMMARY)
    return new Set(parts.map(({ path }) => basename(path))).size === 1 ? [parts] : parts.map((part) => [part]);
  const groups: Part[][] = [];
  let bytes = 0;
  for (const part of parts.toSorted((a, b) => a.block - b.block)) {
    const { size } = statSync(join(lake, part.path));
    bytes += size;
    if (groups.length > 0 && bytes <= LARGEST_BYTES) groups.at(-1)!.push(part);
    else {
      groups.push([part]);
      bytes = size;
    }
  }
  return groups;
}

interface Group {
  readonly lake: string;
  readonly work: string;
  /** The directory of the new folders. */
  readonly fresh: string;
  readonly run: string;
  readonly name: string;
  readonly group: readonly Part[];
}

async function mergeGroup(store: Store, { lake, work, fresh, run, name, group }: Group): Promise<void> {
  const [first] = group;
  const folder = join(fresh, name, folderOf(run, first!.block));
  mkdirSync(folder, { recursive: true });
  const table = lakeTables().find((one) => one.name === name)!;
  const isOne = group.every(({ path }) => basename(path) === basename(first!.path));
  if (isOne) {
    sameFile(join(lake, first!.path), join(folder, basename(first!.path)));
    return;
  }
  const files = group.map(({ path }) => quotedText(join(lake, path)));
  const rows = `FROM read_parquet([${files.join(', ')}], hive_partitioning = false, union_by_name = true)`;
  const isShared = table.scope === 'dictionary';
  const file = join(work, `${name}.parquet`);
  const written = await copyRows(
    store,
    `SELECT ${isShared ? 'DISTINCT *' : '*'} ${rows}${isShared ? ' ORDER BY ALL' : ''}`,
    file,
  );
  const [counted] = await store.select(`SELECT count(*) AS rows ${rows}`);
  if (!isShared && Number(counted!['rows']) !== written)
    throw new MbfError('MBF9001', `${written} of ${String(counted!['rows'])} rows of ${name} were copied`, {
      file: lake,
    });
  const part = await newPart(name, file);
  renameSync(file, join(folder, part.name));
}

/** A second name, or a copy on file systems without hard links. */
function sameFile(file: string, to: string): void {
  try {
    linkSync(file, to);
  } catch {
    copyFileSync(file, to);
  }
}

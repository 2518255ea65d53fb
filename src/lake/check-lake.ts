/** Whether a lake is whole: every file has the content that its name is made of, and every run all of its blocks. */
import { lstatSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { groupBy } from '../model/group-by.js';
import { maxOf, sumOf } from '../model/lists.js';
import type { CheckedRun, LakeProblem } from '../model/results/lake.js';
import type { Store } from '../store/store.js';
import { isMadeByLiving } from '../store/temporary-files.js';
import { type BlockRow, blockRows } from './blocks-of-run.js';
import { SWAP } from './compact-run.js';
import { DESCRIPTION, listParts, namesIn, PART, type Part, partName, tableNames } from './lake-files.js';
import { RUN_SUMMARY } from './lake-tables.js';
import { isAbandoned, LOCK } from './run-lock.js';

export interface LakeState {
  readonly runs: readonly CheckedRun[];
  readonly problems: readonly LakeProblem[];
}

/** Blocks and files of each run, without reading more than `run_summary`. */
export async function runsOfLake(
  store: Store,
  lake: string,
  parts = listParts(lake, tableNames()),
): Promise<CheckedRun[]> {
  const rows = groupBy(await blockRows(store, lake, partsOf(parts, RUN_SUMMARY)), ({ run }) => run);
  return [...groupBy(parts, ({ run }) => run)]
    .map(([run, own]) => runOf(run, own, rows.get(run) ?? [], lake))
    .sort((a, b) => (a.run < b.run ? -1 : 1));
}

const partsOf = (parts: readonly Part[], table: string): readonly Part[] =>
  parts.filter((part) => part.table === table);

function runOf(run: string, parts: readonly Part[], rows: readonly BlockRow[], lake: string): CheckedRun {
  const present = new Set(rows.map(({ block }) => block));
  const folders = parts.map(({ block }) => block + 1);
  const blocks = maxOf([...folders, ...rows.map((row) => row.blocks)]);
  const missing = Array.from({ length: blocks }, (_, i) => i).filter((block) => !present.has(block));
  return {
    run,
    blocks,
    whole_blocks: present.size,
    missing,
    ranks: sumOf(rows.map(({ ranks }) => ranks)),
    started_us: rows.reduce<number | null>(
      (least, { started_us: us }) => (us === null ? least : Math.min(us, least ?? us)),
      null,
    ),
    files: parts.length,
    bytes: sumOf(parts.map(({ path }) => statSync(join(lake, path)).size)),
  };
}

/** `progress` is called in turn, with files read and all files. */
export async function verifyLake(
  store: Store,
  lake: string,
  progress?: (done: number, all: number) => void,
): Promise<LakeState> {
  const parts = listParts(lake, tableNames());
  const problems: LakeProblem[] = [...strangers(lake), ...doubles(parts)];
  const damaged = new Set<Part>();
  for (const [i, part] of parts.entries()) {
    progress?.(i, parts.length);
    const name = await partName(join(lake, part.path));
    if (name === basename(part.path)) continue;
    damaged.add(part);
    problems.push({ kind: 'damaged', run: part.run, path: part.path });
  }
  progress?.(parts.length, parts.length);
  const sound = parts.filter((part) => !damaged.has(part));
  const rows = groupBy(await blockRows(store, lake, partsOf(sound, RUN_SUMMARY)), ({ run }) => run);
  for (const [run, own] of rows)
    if (new Set(own.map(({ blocks, is_local }) => `${blocks} ${is_local}`)).size > 1)
      problems.push({ kind: 'mixed', run, path: join(RUN_SUMMARY, `run=${run}`) });
  const runs = await runsOfLake(store, lake, sound);
  for (const { run, missing } of runs)
    if (missing.length > 0) problems.push({ kind: 'not_whole', run, path: join(RUN_SUMMARY, `run=${run}`) });
  return { runs, problems };
}

/** Two parts of a block would give each row twice. */
function doubles(parts: readonly Part[]): LakeProblem[] {
  const places = groupBy(parts, ({ table, run, block }) => `${table} ${run} ${block}`);
  return [...places.values()]
    .filter((own) => own.length > 1)
    .map(([part]) => ({ kind: 'double', run: part!.run, path: dirname(part!.path) }));
}

/** What no writer puts there, and what one that has ended left. */
function strangers(lake: string): LakeProblem[] {
  const unknown = (...path: string[]): LakeProblem => ({ kind: 'unknown', run: null, path: join(...path) });
  const known = new Set(tableNames());
  return namesIn(lake).flatMap((table): LakeProblem[] => {
    if (table === DESCRIPTION) return [];
    if (table.startsWith('.')) return isLeft(lake, table) ? [{ kind: 'not_finished', run: null, path: table }] : [];
    if (!known.has(table)) return [unknown(table)];
    return namesIn(join(lake, table)).flatMap((run) => {
      if (!run.startsWith('run=')) return [unknown(table, run)];
      return namesIn(join(lake, table, run)).flatMap((block) => {
        if (!/^rank_block=\d+$/.test(block)) return [unknown(table, run, block)];
        const names = namesIn(join(lake, table, run, block)).filter((name) => !PART.test(name));
        return names.map((name) => unknown(table, run, block, name));
      });
    });
  });
}

/** A task takes less; of a process on another node nothing else is known. */
const LONGEST_WORK_MS = 86_400_000;

/** Whether no running process works at it. */
function isLeft(lake: string, name: string): boolean {
  if (SWAP.test(name)) return true;
  if (LOCK.test(name)) return isAbandoned(join(lake, name));
  const isRunning = isMadeByLiving(name);
  const stat = lstatSync(join(lake, name), { throwIfNoEntry: false });
  return isRunning !== undefined && stat !== undefined && (!isRunning || Date.now() - stat.mtimeMs > LONGEST_WORK_MS);
}

/** Removes what writers that have ended left, also on other hosts. */
export function sweepLake(lake: string): void {
  for (const name of namesIn(lake))
    if (name.startsWith('.') && !SWAP.test(name) && isLeft(lake, name))
      rmSync(join(lake, name), { recursive: true, force: true });
}

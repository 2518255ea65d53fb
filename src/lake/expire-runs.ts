/** Retention by level: rows of state and events of old runs go, answers stay. */
import { mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { groupBy } from '../model/group-by.js';
import { maxOf, sumOf } from '../model/lists.js';
import type { ExpiredRun } from '../model/results/lake.js';
import type { Store } from '../store/store.js';
import { runsOfLake } from './check-lake.js';
import { finishCompaction } from './compact-run.js';
import { listParts, type Part } from './lake-files.js';
import { type Level, lakeTables } from './lake-tables.js';
import { withRunLock } from './run-lock.js';

export interface Expiry {
  /** `state` removes events too: their stacks are rows of state. */
  readonly level: Exclude<Level, 'answers'>;
  /** Runs that started earlier, µs since 1970. Without a time of its own, a run is as old as its newest file. */
  readonly beforeUs: number;
  readonly runs: readonly string[];
  /** Runs with a failure of one of these causes. */
  readonly causes: readonly string[];
  /** Whether runs with failures are meant, or those without; undefined: both. */
  readonly hasFailed: boolean | undefined;
}

/** The runs that have something to remove, the oldest first. `store`: a lake, opened for `lake.verdict` too. */
export async function expiredRuns(store: Store, lake: string, expiry: Expiry): Promise<readonly ExpiredRun[]> {
  const parts = groupBy(listParts(lake, tablesOf(expiry.level)), ({ run }) => run);
  const verdicts = groupBy(await store.select('SELECT DISTINCT run, cause FROM lake.verdict'), ({ run }) =>
    String(run),
  );
  const runs: ExpiredRun[] = [];
  for (const { run, started_us: startedUs } of await runsOfLake(store, lake)) {
    const removable = parts.get(run) ?? [];
    const causes = (verdicts.get(run) ?? []).map(({ cause }) => String(cause)).sort();
    const isMeant =
      removable.length > 0 &&
      (expiry.runs.length === 0 || expiry.runs.includes(run)) &&
      (expiry.causes.length === 0 || expiry.causes.some((cause) => causes.includes(cause))) &&
      (expiry.hasFailed === undefined || expiry.hasFailed === causes.length > 0);
    if (!isMeant) continue;
    const files = removable.map(({ path }) => statSync(join(lake, path)));
    const sinceUs = startedUs ?? 1000 * maxOf(files.map(({ mtimeMs }) => Math.ceil(mtimeMs)));
    if (sinceUs >= expiry.beforeUs) continue;
    runs.push({ run, since_us: sinceUs, causes, files: removable.length, bytes: sumOf(files.map(({ size }) => size)) });
  }
  return runs.sort((a, b) => a.since_us - b.since_us || (a.run < b.run ? -1 : 1));
}

/** Moves what goes into `work`, an empty directory of the lake that is removed afterwards: a table goes at once. */
export async function expireRun(lake: string, work: string, run: string, level: Expiry['level']): Promise<void> {
  await withRunLock(lake, run, (touch) => {
    finishCompaction(lake, run);
    for (const table of new Set(listParts(lake, tablesOf(level), run).map((part: Part) => part.table))) {
      touch();
      mkdirSync(join(work, table), { recursive: true });
      renameSync(join(lake, table, `run=${run}`), join(work, table, `run=${run}`));
    }
  });
}

/** Events first: without them state is whole. */
const tablesOf = (level: Expiry['level']): string[] =>
  ['events', 'state']
    .slice(0, level === 'events' ? 1 : 2)
    .flatMap((each) => lakeTables().filter((table) => table.level === each))
    .map(({ name }) => name);

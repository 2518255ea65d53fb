/** The answers of the allocator model about failures, as rows of `oom_replay` and `oom_what_if`. */
import { groupBy } from '../../model/group-by.js';
import type { WhatIfSetting } from '../../model/results/replay.js';
import type { Counterfactual, ReplayVerdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import type { CellValue } from '../../store/to-duckdb.js';
import { counterfactual } from '../replay/counterfactual.js';
import { MOST_COMPARED_SNAPSHOTS } from './facts.js';

/** What the allocator model answers about a failure. */
export interface ReplayedFailure {
  readonly failure: number;
  readonly counterfactual: Counterfactual;
}

/** Replays the first traced failures of runs: each reads a whole trace again. */
export async function writeReplays(store: Store, runIds: readonly number[]): Promise<void> {
  for (const runId of runIds) {
    const replayed: ReplayedFailure[] = [];
    const traced = await store.all('verdict.traced_ooms', { run_ids: String(runId) });
    for (const [failure, oom] of traced.slice(0, MOST_COMPARED_SNAPSHOTS).entries()) {
      const place = { ...oom, snapshotId: oom.snapshot_id, path: oom.display_path };
      const answer = await counterfactual(store, place, oom.entries);
      if (answer !== null) replayed.push({ failure, counterfactual: answer });
    }
    await store.transaction(() => insertReplays(store, runId, replayed));
  }
}

/** Replaces the answers of a run. In a transaction. */
export async function insertReplays(store: Store, runId: number, replayed: readonly ReplayedFailure[]): Promise<void> {
  const rows: Record<string, CellValue>[] = [];
  const whatIfs: Record<string, CellValue>[] = [];
  for (const { failure, counterfactual: answer } of replayed) {
    const key = { run_id: runId, failure };
    const counterfactuals = answer.rows.filter((row) => row.setting !== 'recorded');
    rows.push({
      ...key,
      ...answer.replay,
      is_on: counterfactuals.some((row) => row.setting === 'expandable_segments:True'),
      is_served: counterfactuals.length > 0 && counterfactuals.every((row) => row.outcome === 'fits'),
      is_robust: counterfactuals.every((row) => row.robust),
    });
    for (const [position, row] of answer.rows.entries()) whatIfs.push({ ...key, position, ...row });
  }
  for (const table of ['oom_replay', 'oom_what_if'])
    await store.run(`DELETE FROM ${table} WHERE run_id = $run_id`, { run_id: runId });
  await store.insertRows('oom_replay', rows);
  await store.insertRows('oom_what_if', whatIfs);
}

/** By the number of the failure. */
export async function readReplays(store: Store, runId: number): Promise<ReadonlyMap<number, Counterfactual>> {
  const replays = await store.all('verdict.replays', { run_id: runId });
  const rows = groupBy(await store.all('verdict.what_ifs', { run_id: runId }), ({ failure }) => failure);
  return new Map(
    replays.map(({ failure, ...replay }) => [
      failure,
      {
        replay: replay as ReplayVerdict,
        rows: (rows.get(failure) ?? []).map(({ failure: _, ...row }) => row as WhatIfSetting),
      },
    ]),
  );
}

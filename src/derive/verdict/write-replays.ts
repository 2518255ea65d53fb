/** The answers of the allocator model about failures, as rows of `oom_replay`. */
import type { Counterfactual } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';

/** What the allocator model answers about a failure. */
export interface ReplayedFailure {
  readonly failure: number;
  readonly counterfactual: Counterfactual;
}

/** Replaces the answers of a run. In a transaction. */
export async function writeReplays(store: Store, runId: number, replayed: readonly ReplayedFailure[]): Promise<void> {
  await store.run('DELETE FROM oom_replay WHERE run_id = $run_id', { run_id: runId });
  await store.insertRows(
    'oom_replay',
    replayed.map(({ failure, counterfactual: { replay, rows } }) => {
      const counterfactuals = rows.filter((row) => row.setting !== 'recorded');
      return {
        run_id: runId,
        failure,
        status: replay.status,
        repeats_oom: replay.repeats_oom,
        is_on: counterfactuals.some((row) => row.setting === 'expandable_segments:True'),
        is_served: counterfactuals.length > 0 && counterfactuals.every((row) => row.outcome === 'fits'),
        is_robust: counterfactuals.every((row) => row.robust),
      };
    }),
  );
}

/** Writes the facts by which the failures of runs are judged, for any client of the store. */
import { FACT_RULES } from '../../model/derived-tables.js';
import type { Store } from '../../store/store.js';
import { type RunFacts, writeFacts } from '../verdict/fact-rows.js';
import { readFailures } from '../verdict/failures.js';

/** Runs whose facts are missing or of other rules. */
export async function unjudgedRuns(store: Store): Promise<number[]> {
  return (await store.all('verdict.unjudged_runs', { rules: FACT_RULES })).map((row) => row.run_id);
}

export async function judgeRuns(store: Store, runIds: readonly number[]): Promise<void> {
  const runs: RunFacts[] = [];
  for (const runId of runIds) runs.push({ runId, failures: (await readFailures(store, runId)).failures });
  await store.transaction(async () => {
    for (const runId of runIds) await store.run('DELETE FROM judged_run WHERE run_id = $run_id', { run_id: runId });
    await writeFacts(store, runs);
    await store.insertRows(
      'judged_run',
      runIds.map((run_id) => ({ run_id, rules: FACT_RULES })),
    );
  });
}

/** Writes the facts by which the failures of a run are judged, for any client of the store. */
import { FACT_RULES } from '../../model/derived-tables.js';
import type { Store } from '../../store/store.js';
import { writeFacts } from '../verdict/fact-rows.js';
import { readFailures } from '../verdict/failures.js';

/** Runs whose facts are missing or of other rules. */
export async function unjudgedRuns(store: Store): Promise<number[]> {
  return (await store.all('verdict.unjudged_runs', { rules: FACT_RULES })).map((row) => row.run_id);
}

export async function judgeRun(store: Store, runId: number): Promise<void> {
  const { failures } = await readFailures(store, runId);
  await store.transaction(async () => {
    await store.run('DELETE FROM judged_run WHERE run_id = $run_id', { run_id: runId });
    await writeFacts(store, runId, failures);
    await store.insertRows('judged_run', [{ run_id: runId, rules: FACT_RULES }]);
  });
}

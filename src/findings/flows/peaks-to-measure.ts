/** The snapshots a measurement looks into, and those that `diagnose` would. */
import type { Store } from '../../store/store.js';
import { candidatesToMeasure, MOST_PEAKS } from '../measure/candidates.js';
import { snapshotsToJudge } from '../verdict/traced-ooms.js';

export async function peaksToMeasure(store: Store, runId: number, most: number = MOST_PEAKS): Promise<number[]> {
  const candidateIds = (await candidatesToMeasure(store, runId, most)).map(({ snapshotId }) => snapshotId);
  const failed = (await store.all('measure.oom_snapshots', { run_id: runId })).length > 0;
  return [...new Set([...candidateIds, ...(failed ? await snapshotsToJudge(store, runId) : [])])];
}

/** The snapshots a measurement looks into: the latest of each rank, the lowest ranks first, and those that `diagnose` would. */
import type { Store } from '../../../store/store.js';
import { snapshotsToJudge } from '../../verdict/traced-ooms.js';
import { type Candidate, listCandidates } from '../diff/side.js';

/** A peak's stacks are what a golden file is made of: of a thousand ranks a few tell the rest. */
export const MOST_PEAKS = 4;

export async function candidatesToMeasure(store: Store, runId: number, most: number): Promise<Candidate[]> {
  if (most === 0) return [];
  // They come in order of rank, then time.
  const latest = new Map<number | null, Candidate>();
  for (const candidate of await listCandidates(store, runId, undefined)) latest.set(candidate.rank, candidate);
  return [...latest.values()].slice(0, most);
}

export async function peaksToMeasure(store: Store, runId: number, most: number = MOST_PEAKS): Promise<number[]> {
  const own = (await candidatesToMeasure(store, runId, most)).map(({ snapshotId }) => snapshotId);
  const failed = (await store.all('measure.oom_snapshots', { run_id: runId })).length > 0;
  return [...new Set([...own, ...(failed ? await snapshotsToJudge(store, runId) : [])])];
}

/** The snapshots a measurement looks into: the latest of each rank, the lowest ranks first. */
import type { Store } from '../../store/store.js';
import { type Candidate, listCandidates } from '../diff/side.js';

/** A peak's stacks are what a golden file is made of: of a thousand ranks a few are enough. */
export const MOST_PEAKS = 4;

export async function candidatesToMeasure(store: Store, runId: number, most: number): Promise<Candidate[]> {
  if (most === 0) return [];
  // They come in order of rank, then time.
  const latest = new Map<number | null, Candidate>();
  for (const candidate of await listCandidates(store, runId, undefined)) latest.set(candidate.rank, candidate);
  return [...latest.values()].slice(0, most);
}

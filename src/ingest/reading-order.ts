/** The order in which the files of a run are read. */
import type { Candidate } from './discover/discover.js';

/** Snapshots are read after all else of a run. */
export interface ReadingOrder {
  readonly others: readonly Candidate[];
  readonly snapshots: readonly Candidate[];
}

/** By name; others are labelled again where needed. */
const NAME_OF_SNAPSHOT = /\.(?:pickle|pkl)(?:\.(?:gz|zst|zstd))?$/i;

export function readingOrder(candidates: readonly Candidate[]): ReadingOrder {
  const isSnapshot = ({ path }: Candidate): boolean => NAME_OF_SNAPSHOT.test(path);
  return {
    others: candidates.filter((candidate) => !isSnapshot(candidate)),
    snapshots: candidates.filter(isSnapshot),
  };
}

/** The order of commits in a history. */
import type { CommitParents } from '../../model/results/history.js';

export interface CommitOrder {
  /**
   * The whole id of a commit or of the beginning of one; undefined if the history does not have such a commit, or has
   * several.
   */
  find(commit: string): string | undefined;
  /** Place of a whole id, from 0 for the oldest. */
  position(sha: string): number;
  /**
   * Commits strictly between two whole ids, the older one first. Only ancestors of a measured commit count: other
   * branches are not on the way.
   */
  between(older: string, newer: string): number;
}

/** A shorter text is not an abbreviation that git would print. */
const LEAST_DIGITS = 4;

/**
 * @param history oldest first, parents before their children
 * @param measured ids of commits, whole or their beginnings; unknown ones do no harm
 */
export function orderCommits(history: readonly CommitParents[], measured: readonly string[]): CommitOrder {
  const positions = new Map(history.map(({ sha }, i) => [sha, i]));
  const sorted = [...positions.keys()].sort();
  const find = (commit: string): string | undefined => {
    const id = commit.toLowerCase();
    if (positions.has(id)) return id;
    if (id.length < LEAST_DIGITS) return undefined;
    const at = lowerBound(sorted, id);
    const match = sorted[at];
    return match?.startsWith(id) === true && sorted[at + 1]?.startsWith(id) !== true ? match : undefined;
  };
  const onTheWay = new Uint8Array(history.length);
  for (const commit of measured) {
    const sha = find(commit);
    if (sha !== undefined) onTheWay[positions.get(sha)!] = 1;
  }
  // Newest first, a commit is marked before its parents are looked at.
  for (let i = history.length - 1; i >= 0; i -= 1) {
    if (onTheWay[i] === 0) continue;
    for (const parent of history[i]!.parents) {
      const place = positions.get(parent);
      if (place !== undefined) onTheWay[place] = 1;
    }
  }
  const passed = new Int32Array(history.length + 1);
  for (let i = 0; i < history.length; i += 1) passed[i + 1] = passed[i]! + onTheWay[i]!;
  const position = (sha: string): number => positions.get(sha)!;
  return {
    find,
    position,
    between: (older, newer) => Math.max(0, passed[position(newer)]! - passed[position(older) + 1]!),
  };
}

/** First index whose text is not below `text`. */
function lowerBound(sorted: readonly string[], text: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

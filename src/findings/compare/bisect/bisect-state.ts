/**
 * Progress of a bisection: the commit to blame, or the commits left, by what was judged. Pure; git decides which
 * commits a good one clears.
 */

import type { BisectLog, CommitInfo } from '../../../model/git.js';
import type { BisectState } from '../../../model/results/bisect.js';
import type { Judgement } from '../../../model/results/compare.js';

/** The newest judgement of each commit; those of a log from elsewhere have a null reason. */
export interface KnownMark {
  readonly sha: string;
  readonly judgement: Judgement;
  readonly reason: string | null;
}

export function knownMarks(
  log: BisectLog | undefined,
  judged: readonly { readonly sha: string; readonly judgement: Judgement; readonly reason: string }[],
): KnownMark[] {
  const marks = new Map<string, KnownMark>();
  for (const { mark, sha } of log?.marks ?? []) marks.set(sha, { sha, judgement: mark, reason: null });
  // A commit called something else by hand after we judged it stays what it was called.
  for (const { sha, judgement, reason } of judged) {
    const known = marks.get(sha);
    if (known === undefined || known.judgement === judgement) marks.set(sha, { sha, judgement, reason });
  }
  return [...marks.values()];
}

export interface Progress {
  readonly state: BisectState;
  /** The first bad commit, if it is known. */
  readonly culprit: CommitInfo | null;
  /** Commits of which one is to blame, oldest first; empty once it is found. */
  readonly left: readonly CommitInfo[];
  /** The bad commit nearest to the good ones. */
  readonly bad: CommitInfo | null;
}

/** `reach`: for each bad commit, what no good one has, itself first, as `git rev-list BAD --not GOOD…` orders it. */
export function progressOf(marks: readonly KnownMark[], reach: readonly (readonly CommitInfo[])[]): Progress {
  const nearest = reach.filter((commits) => commits.length > 0).toSorted((a, b) => a.length - b.length)[0];
  if (nearest === undefined) return { state: 'unfinished', culprit: null, left: [], bad: null };
  const bad = nearest[0]!;
  if (nearest.length === 1) return { state: 'found', culprit: bad, left: [], bad };
  const skipped = new Set(marks.flatMap(({ sha, judgement }) => (judgement === 'skip' ? [sha] : [])));
  const open = nearest.slice(1).filter(({ sha }) => !skipped.has(sha));
  const left = nearest.toReversed();
  return { state: open.length === 0 ? 'suspects' : 'unfinished', culprit: null, left, bad };
}

/** The repository's part of a comparison: what changed between the commits of two runs, and what of it may be why. */

import { compareCommits } from '../../git/compare-commits.js';
import type { Repository } from '../../git/repository.js';
import { resolveRevision } from '../../git/resolve-revision.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { DiffComponent } from '../../model/diff-parts.js';
import { MbfError } from '../../model/errors.js';
import type { CommitComparison } from '../../model/git.js';
import type { Measurement } from '../../model/measurement.js';
import type { CompareCheck, FoundSuspect } from '../../model/results/compare.js';
import { componentChanges, pairPeaks, stackGroups } from '../compare/site-changes.js';
import { type GrownSite, grownSites } from '../diff/grown-sites.js';
import { matchSites } from '../diff/match-sites.js';
import { changedConfig, changedEnv, changedVersions } from '../measure/changed-values.js';
import { isOfInterest, rankSuspects } from '../suspects/rank-suspects.js';
import type { Failure } from '../suspects/score-knob.js';

/**
 * What both commits differ in, of large diffs first what `sites` run through; null without a repository. Throws MBF1008
 * where a commit is not known, or not in the repository.
 */
export async function comparisonOf(
  repository: Repository | undefined,
  from: string | null,
  to: string | null,
  sites: readonly GrownSite[],
): Promise<CommitComparison | null> {
  if (repository === undefined) return null;
  if (from === null || to === null)
    throw new MbfError(
      'MBF1008',
      'the commit of a run is not known: ingest it with --commit, or have its log print it',
    );
  const [a, b] = [await resolveRevision(repository, from), await resolveRevision(repository, to)];
  return compareCommits(repository, a, b, isOfInterest(sites));
}

export interface Grown {
  readonly components: readonly DiffComponent[];
  readonly sites: readonly GrownSite[];
  readonly totalDeltaBytes: number | null;
  /** Of the older side; null unless both have a snapshot. */
  readonly activeBytes: number | null;
}

export function grownBetween(golden: Measurement, current: Measurement): Grown {
  const pair = pairPeaks(golden, current);
  if (pair === undefined) return { components: [], sites: [], totalDeltaBytes: null, activeBytes: null };
  const [a, b] = pair;
  const [x, y] = [stackGroups(a), stackGroups(b)];
  return {
    components: componentChanges(a, b),
    sites: grownSites(matchSites(x, y), x, y, (side, group) => (side === 'a' ? a : b).sites[group]?.component ?? null),
    totalDeltaBytes: b.active_bytes - a.active_bytes,
    activeBytes: a.active_bytes,
  };
}

const LEAST_SCORE = threshold('suspects.least_score');

/** All of the live memory of a run; of presets by their upstream names. */
const LIVE = /^peak_(?:allocated|active)|mem.*alloc/;
const TOLERANCE = threshold('suspects.grown_share');

/** Of the newer run where it failed and the older one did not: a change of status is to be explained first. */
function failureOf(
  golden: Measurement,
  current: Measurement,
  { totalDeltaBytes, activeBytes }: Grown,
  checks: readonly CompareCheck[],
): Failure | null {
  const { ending, verdict } = current.status;
  if (!hasFailed(current) || hasFailed(golden) || (verdict === null && ending === 'oom')) return null;
  const isGrown =
    checks.some(({ name, status }) => status === 'regression' && LIVE.test(name)) ||
    (totalDeltaBytes ?? 0) > TOLERANCE * (activeBytes ?? Number.POSITIVE_INFINITY);
  return { cause: verdict?.cause ?? 'not_oom', confidence: verdict?.confidence ?? 'low', isGrown };
}

export const hasFailed = ({ status: { ending } }: Measurement): boolean => ending === 'oom' || ending === 'failed';

/** Suspects of what is worse in `current`, by its checks. `time`: speed is what changed, memory is not. */
export function suspectsBetween(
  golden: Measurement,
  current: Measurement,
  grown: Grown,
  comparison: CommitComparison | null,
  checks: readonly CompareCheck[],
  direction: 'memory' | 'time',
): FoundSuspect[] {
  const ranked = rankSuspects({
    comparison,
    sites: grown.sites,
    components: grown.components,
    config: changedConfig(golden, current),
    env: changedEnv(golden, current),
    versions: changedVersions(golden, current),
    totalDeltaBytes: grown.totalDeltaBytes,
    direction,
    failure: failureOf(golden, current, grown, checks),
  });
  return ranked.filter(({ score }) => score >= LEAST_SCORE);
}

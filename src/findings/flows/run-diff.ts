/** The part of `diff` about the runs, and about the repository of their commits. */

import type { Repository } from '../../git/repository.js';
import type { CommitComparison } from '../../model/git.js';
import type { Measurement } from '../../model/measurement.js';
import type { RunDiff } from '../../model/results/diff.js';
import type { Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { allChecks } from '../compare/compare-runs.js';
import { MOST_PEAKS } from '../measure/candidates.js';
import { changedConfig, changedEnv, changedVersions } from '../measure/changed-values.js';
import { describeComparison, readComparedRun } from '../nsys/describe-nsys.js';
import { measureRun } from './measure-run.js';
import { comparisonOf, type Grown, grownBetween, hasFailed, suspectsBetween } from './suspects-between.js';

/** Two runs, of which a process may have only one store open at a time. */
export interface TwoRuns {
  use<Result>(side: 0 | 1, work: (run: RunInStore) => Promise<Result>): Promise<Result>;
}

export interface RunInStore {
  readonly store: Store;
  readonly runId: number;
  readonly run: string;
}

/**
 * `known`: what grew between the snapshots; undefined: their peaks are compared. `stepRange`: the NVTX range that is a
 * step.
 */
export async function runDiff(
  targets: TwoRuns,
  known: Grown | undefined,
  repository: Repository | undefined,
  stepRange: string | undefined,
  summaryOf: (verdict: Verdict) => string,
): Promise<RunDiff> {
  const read = (side: 0 | 1, isExplained: boolean) =>
    targets.use(side, async ({ store, runId, run }) => ({
      place: `${store.file} ${runId}`,
      // The snapshots were read already. For a failed run, the refused request counts too.
      measurement: await measureRun(store, runId, run, {
        mostPeaks: known === undefined ? MOST_PEAKS : 0,
        summaryOf: isExplained ? summaryOf : undefined,
      }),
      profile: await readComparedRun(store, runId, run, stepRange),
    }));
  const a = await read(0, false);
  // A failure that only b has is part of the difference: its cause is needed, which takes as long as `diagnose`.
  const b = await read(1, !hasFailed(a.measurement));
  const [x, y] = [a.measurement, b.measurement];
  const grown = known ?? grownBetween(x, y);
  const comparison = await comparisonOf(repository, commitOf(x), commitOf(y), grown.sites);
  const isOneRun = a.place === b.place;
  const checks = isOneRun
    ? []
    : await targets.use(1, ({ store }) => allChecks(store, { golden: [x], current: [y] }, {}));
  const slower = checks.some(
    ({ name, status }) => status === 'regression' && (name === 'step_time' || name === 'throughput'),
  );
  const memory =
    (hasFailed(y) && !hasFailed(x)) ||
    (grown.totalDeltaBytes ?? 0) > 0 ||
    checks.some(({ name, status }) => status === 'regression' && name.startsWith('peak_'));
  const suspects =
    isOneRun && comparison === null
      ? []
      : suspectsBetween(x, y, grown, comparison, checks, slower && !memory ? 'time' : 'memory');
  return {
    a_run: x.run,
    b_run: y.run,
    checks,
    config: changedConfig(x, y),
    env: changedEnv(x, y),
    versions: changedVersions(x, y),
    nsys:
      isOneRun || a.profile.reports.length === 0 || b.profile.reports.length === 0
        ? null
        : (describeComparison(a.profile, b.profile).against ?? null),
    commits: comparison === null ? null : commitsOf(comparison, suspects),
    suspects,
  };
}

/** As `ingest --commit` gives it, else as the log prints it. */
export function commitOf({ commit, commits }: Measurement): string | null {
  return commit ?? commits['run'] ?? commits['source'] ?? commits['megatron_bridge'] ?? commits['megatron'] ?? null;
}

function commitsOf(comparison: CommitComparison, suspects: RunDiff['suspects']): RunDiff['commits'] {
  const { from, to, commits, files, submodules } = comparison;
  const suspectShas = new Set(suspects.flatMap((suspect) => suspect.commits.map(({ sha }) => sha)));
  return {
    a: from,
    b: to,
    touching: commits.filter(({ sha }) => suspectShas.has(sha)).map(({ sha, subject }) => ({ sha, subject })),
    in_between: commits.length,
    changed_files: files.length,
    submodules,
  };
}

/** The part of `diff` that the runs tell, and the repository of their commits. */
import { existsSync } from 'node:fs';
import { allChecks, checkInput } from '../findings/compare/compare-runs.js';
import { measureRun } from '../findings/flows/measure-run.js';
import { MOST_PEAKS } from '../findings/measure/candidates.js';
import { changedConfig, changedEnv, changedVersions } from '../findings/measure/changed-values.js';
import { DEFAULT_TOLERANCES } from '../findings/measure/tolerances.js';
import { describeComparison, readComparedRun } from '../findings/nsys/describe-nsys.js';
import { openRepository } from '../git/repository.js';
import { resolveRevision } from '../git/resolve-revision.js';
import type { RunDiff } from '../model/diff-results.js';
import { MbfError } from '../model/errors.js';
import type { CommitComparison } from '../model/git.js';
import type { Measurement } from '../model/measurement.js';
import type { Context } from './context.js';
import { comparisonOf, type Grown, grownBetween, suspectsBetween } from './suspects-of.js';
import { type DbOptions, openTarget } from './target.js';
import type { TwoTargets } from './two-targets.js';

interface RepositoryOption extends DbOptions {
  readonly repo?: string;
}

/** With a repository, operands that are nothing else are its revisions: `main~3` becomes `commit:<sha>`. */
export async function revisionsIn(
  operands: readonly [string, string],
  options: RepositoryOption,
  context: Context,
): Promise<readonly [string, string]> {
  const { repo } = options;
  if (repo === undefined) return operands;
  const one = async (operand: string): Promise<string> => {
    if (existsSync(operand) || /^(?:run|snapshot|label|path):/.test(operand)) return operand;
    try {
      await (await openTarget(operand, options, context)).close();
      return operand;
    } catch (error) {
      if (!(error instanceof MbfError) || (error.code !== 'MBF1002' && error.code !== 'MBF1003')) throw error;
      const sha = await resolveRevision(await openRepository(repo, process.env), operand.replace(/^commit:/, '')).catch(
        () => undefined,
      );
      if (sha === undefined) throw error;
      return `commit:${sha}`;
    }
  };
  return [await one(operands[0]), await one(operands[1])];
}

/** `known`: what grew between the snapshots; undefined: not told by their peaks. */
export async function runDiff(
  targets: TwoTargets,
  known: Grown | undefined,
  options: RepositoryOption,
): Promise<RunDiff> {
  const read = (side: 0 | 1) =>
    targets.use(side, async ({ store, runId, run }) => ({
      place: `${store.file} ${runId}`,
      // The snapshots were looked into already; where a run died, what it was refused counts too. Why it died is what `diagnose` tells.
      measurement: await measureRun(store, runId, run, {
        mostPeaks: known === undefined ? MOST_PEAKS : 0,
        judge: false,
      }),
      profile: await readComparedRun(store, runId, run),
    }));
  const [a, b] = [await read(0), await read(1)];
  const [x, y] = [a.measurement, b.measurement];
  const grown = known ?? grownBetween(x, y);
  const comparison = await comparisonOf(options.repo, commitOf(x), commitOf(y), grown.sites);
  const isOneRun = a.place === b.place;
  const checks = isOneRun ? [] : allChecks(checkInput({ golden: [x], current: [y], tolerances: DEFAULT_TOLERANCES }));
  const slower = checks.some(
    ({ name, status }) => status === 'regression' && (name === 'step_time' || name === 'throughput'),
  );
  const memory =
    (grown.totalDeltaBytes ?? 0) > 0 ||
    checks.some(({ name, status }) => status === 'regression' && name.startsWith('peak_'));
  const suspects =
    isOneRun && comparison === null
      ? []
      : suspectsBetween(x, y, grown, comparison, slower && !memory ? 'time' : 'memory');
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

/** As `ingest --commit` says, else as the log prints it. */
export function commitOf({ commit, commits }: Measurement): string | null {
  return commit ?? commits['run'] ?? commits['source'] ?? commits['megatron_bridge'] ?? commits['megatron'] ?? null;
}

function commitsOf(comparison: CommitComparison, suspects: RunDiff['suspects']): RunDiff['commits'] {
  const { from, to, commits, files, submodules } = comparison;
  const wanted = new Set(suspects.flatMap((suspect) => suspect.commits.map(({ sha }) => sha)));
  return {
    a: from,
    b: to,
    touching: commits.filter(({ sha }) => wanted.has(sha)).map(({ sha, subject }) => ({ sha, subject })),
    in_between: commits.length,
    changed_files: files.length,
    submodules,
  };
}

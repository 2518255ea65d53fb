/** Launches, measures and judges the commit that is checked out, up to a number of times. */
import { mkdirSync, readdirSync } from 'node:fs';
import { cp, mkdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readCommit } from '../../../git/commits.js';
import type { Repository } from '../../../git/repository.js';
import { submodulesOffPin } from '../../../git/submodules-off-pin.js';
import { MbfError } from '../../../model/errors.js';
import type { CommitInfo } from '../../../model/git.js';
import type { Measurement } from '../../../model/measurement.js';
import type { CommitJudgement, LaunchProblem } from '../../../model/results/compare.js';
import type { Store } from '../../../store/store.js';
import type { Criterion } from '../../compare/bisect/criterion.js';
import { judgeCommit, notJudged } from '../../compare/bisect/judge-commit.js';
import type { AllowedChanges } from '../../measure/contract.js';
import type { Tolerances } from '../../measure/tolerances.js';
import { type LaunchEnd, launch } from './launch.js';
import { runDirectory, type Session } from './session.js';

export interface HeadOptions {
  /** For the rules; see `judge-checks.ts`. */
  readonly store: Store;
  readonly repository: Repository;
  readonly session: Session;
  readonly command: readonly string[];
  readonly criterion: Criterion;
  readonly golden: { readonly name: string; readonly runs: readonly Measurement[] };
  readonly hunted: Measurement | null;
  readonly tolerances: Tolerances;
  readonly allowed: AllowedChanges;
  readonly mostRuns: number;
  readonly timeoutMs: number | undefined;
  /** Folder into which the command itself writes; what it changed there is collected. */
  readonly output: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Also gets what the command prints, as it comes. */
  readonly echo: (text: Buffer) => void;
  /** Gets the golden run judged by itself, before anything is launched: which changes its figures show. */
  readonly begin: (judged: CommitJudgement) => void;
  /** Gets what could not be judged by so many launches, if another one follows. */
  readonly undecided: (launches: number, judged: CommitJudgement) => void;
  /** Ingests and measures what a launch wrote, as a run with that name. */
  readonly measure: (directory: string, run: string, commit: string) => Promise<MeasuredLaunch>;
}

export interface MeasuredLaunch {
  /** Undefined if there is nothing to read. */
  readonly measurement: Measurement | undefined;
  /** Files that cannot be read, each with the reason. */
  readonly unreadable: readonly string[];
}

export interface HeadJudgement extends CommitJudgement {
  readonly commit: CommitInfo;
  /** Names of the runs in the store. */
  readonly runs: readonly string[];
}

export async function judgeHead(options: HeadOptions): Promise<HeadJudgement> {
  const { store, repository, criterion, golden, hunted, tolerances, allowed, mostRuns } = options;
  const judge = (runs: readonly Measurement[]): Promise<CommitJudgement> =>
    judgeCommit(store, { criterion, golden: golden.runs, goldenName: golden.name, runs, hunted, tolerances, allowed });
  const commit = await readCommit(repository, 'HEAD');
  // Golden values that cannot judge are found out before hours of training.
  options.begin(await judge(golden.runs));
  const runs: Measurement[] = [];
  let judged: CommitJudgement | undefined;
  for (let attempt = 1; attempt <= mostRuns; attempt += 1) {
    const { measurement, problem, unreadable } = await oneRun(options, commit, attempt);
    if (measurement !== undefined) runs.push(measurement);
    judged = runs.length === 0 ? notJudged({ code: 'no_run', problem: problem! }) : await judge(runs);
    judged = { ...judged, unreadable };
    if (judged.judgement !== 'skip') break;
    if (problem !== undefined && runs.length > 0) judged = { ...judged, problem };
    if (attempt < mostRuns) options.undecided(attempt, judged);
  }
  return { ...judged!, commit, runs: runs.map(({ run }) => run) };
}

async function oneRun(
  options: HeadOptions,
  commit: CommitInfo,
  attempt: number,
): Promise<{
  readonly measurement?: Measurement;
  readonly problem?: LaunchProblem;
  readonly unreadable: readonly string[];
}> {
  const { repository, session, command, timeoutMs, output, env, echo } = options;
  const directory = await runDirectory(session, commit.sha, attempt);
  const outputDirectory = join(directory, 'output');
  mkdirSync(outputDirectory);
  const started = Date.now();
  const end = await launch({
    command,
    output: outputDirectory,
    log: join(directory, 'launch.log'),
    sha: commit.sha,
    attempt,
    timeoutMs,
    env,
    echo,
  });
  const { sha } = await readCommit(repository, 'HEAD');
  if (sha !== commit.sha)
    throw new MbfError('MBF1010', `it moved HEAD from ${commit.sha.slice(0, 12)} to ${sha.slice(0, 12)}`);
  const [off] = await submodulesOffPin(repository);
  if (off !== undefined)
    throw new MbfError(
      'MBF1011',
      `${off.path} is at ${off.checked_out.slice(0, 12)}, and ${commit.sha.slice(0, 12)} pins ${off.pinned.slice(0, 12)}`,
    );
  if (output !== undefined) await collect(resolve(output), outputDirectory, started);
  // A commit may be judged again: its runs then are others, and the store keeps both.
  const run = `${commit.sha.slice(0, 12)}-${attempt}-${started.toString(36)}`;
  const problem = problemOf(end, timeoutMs);
  const { measurement, unreadable } = await options.measure(directory, run, commit.sha);
  if (measurement === undefined) return { problem: { code: 'unreadable', cause: problem ?? null }, unreadable };
  if (problem === undefined || namesFailure(measurement)) return { measurement, unreadable };
  // A launch ended at the timeout counts up to there; a failed launch without a failure in its output is not a run.
  return end.timedOut ? { measurement, problem, unreadable } : { problem, unreadable };
}

/** Whether the run's own output has the failure: then that counts. */
const namesFailure = ({ status }: Measurement): boolean => status.ending === 'oom' || status.ending === 'failed';

function problemOf({ code, signal, timedOut }: LaunchEnd, timeoutMs: number | undefined): LaunchProblem | undefined {
  if (timedOut) return { code: 'timed_out', seconds: Math.round((timeoutMs ?? 0) / 1000) };
  if (signal !== null) return { code: 'signal', signal };
  return code === 0 ? undefined : { code: 'exit', exit: code };
}

/** Copies what was written since the launch began. */
async function collect(from: string, to: string, since: number): Promise<void> {
  const root = await stat(from).catch(() => undefined);
  if (root?.isDirectory() !== true) return;
  for (const entry of readdirSync(from, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // Clocks of file systems are coarse.
    if ((await stat(path)).mtimeMs < since - 2_000) continue;
    const target = join(to, path.slice(from.length));
    await mkdir(join(target, '..'), { recursive: true });
    await cp(path, target);
  }
}

/**
 * One commit of a bisection, by the runs it has so far: good, bad, or undecided. A commit is bad only for what is
 * hunted; any other failure of its runs is not evidence, and a run counts as good only if it passed the point where the
 * hunted one would have failed.
 */

import { MbfError } from '../../../model/errors.js';
import type { Measurement } from '../../../model/measurement.js';
import type { CompareCheck, Judgement, TriageEvidence } from '../../../model/results/compare.js';
import { formatBytes, formatCount } from '../../../model/units.js';
import { compareContract } from '../../measure/contract.js';
import type { Tolerances } from '../../measure/tolerances.js';
import type { CheckInput } from '../checks/check.js';
import { cameAsFar, isEnvironmentFailure, statusWords } from '../checks/status-check.js';
import { type Criterion, criterionText } from './criterion.js';
import { criterionChecks, huntedTolerances } from './criterion-checks.js';

export interface CommitInput {
  readonly criterion: Criterion;
  readonly golden: readonly Measurement[];
  readonly goldenName: string;
  /** Runs of the commit; at least one. */
  readonly runs: readonly Measurement[];
  /** A run that has what is hunted; null where none was named. */
  readonly hunted: Measurement | null;
  readonly tolerances: Tolerances;
}

export interface CommitJudgement {
  readonly judgement: Judgement;
  readonly reason: string;
  readonly evidence: readonly TriageEvidence[];
  readonly checks: readonly CompareCheck[];
}

/** Why a single run cannot be judged, or what its ending alone shows. */
interface RunView {
  readonly run: Measurement;
  readonly judgement: Judgement | 'figures';
  readonly reason: string;
}

/** Throws MBF1009 where the golden values cannot serve: then no commit is to blame. */
export function judgeCommit(input: CommitInput): CommitJudgement {
  const { criterion, golden, runs } = input;
  checkGolden(input);
  const byEnding = criterion.kind === 'oom' || criterion.kind === 'cause';
  const views = runs.map((run) => (byEnding ? byItsEnding(run, input) : byItsFigures(run, input)));
  const evidence = views.map(({ run, reason }) => ({ text: `run ${run.run}: ${reason}`, source: sourceOf(run) }));
  if (byEnding) return { ...combine(views), evidence, checks: [] };
  const usable = undisturbed(
    views.filter(({ judgement }) => judgement === 'figures').map(({ run }) => run),
    criterion,
  );
  if (usable.length === 0) return { judgement: 'skip', reason: views.at(-1)!.reason, evidence, checks: [] };
  return judgeFigures(input, usable, golden, evidence);
}

/** Of several runs, those no straggler slowed down, where time is what is judged. */
function undisturbed(runs: readonly Measurement[], criterion: Criterion): readonly Measurement[] {
  const calm = runs.filter(
    ({ disturbances }) => !disturbances.some(({ kind }) => kind === 'straggler' || kind === 'throttling'),
  );
  return criterion.kind === 'throughput' && calm.length > 0 ? calm : runs;
}

function checkGolden({ criterion, golden, goldenName, hunted, tolerances }: CommitInput): void {
  const died = golden.find(({ status }) => status.ending === 'oom' || status.ending === 'failed');
  if (died !== undefined)
    throw new MbfError(
      'MBF1009',
      `golden values ${goldenName}: run ${died.run} did not come to its end (${statusWords(died.status)})`,
    );
  if (hunted !== null && (criterion.kind === 'oom' || criterion.kind === 'cause') && hunted.status.ending !== 'oom')
    throw new MbfError(
      'MBF1009',
      `run ${hunted.run} (--like) did not run out of memory: ${statusWords(hunted.status)}`,
    );
  // Whether they can judge at all, before anything of this commit is looked at.
  huntedTolerances(criterion, { golden, current: golden, tolerances, sameLayout: true }, hunted);
}

/** Other devices are not a change of the code. */
function otherDevice(run: Measurement, golden: Measurement): string | undefined {
  const different = compareContract(golden, run).find(({ group, blocking }) => group === 'device' && blocking);
  return different === undefined
    ? undefined
    : `it ran on other devices: ${different.key} ${different.golden} → ${different.current}`;
}

function byItsEnding(run: Measurement, { criterion, golden, hunted }: CommitInput): RunView {
  const { status } = run;
  const skip = (reason: string): RunView => ({ run, judgement: 'skip', reason });
  const device = otherDevice(run, golden[0]!);
  if (device !== undefined) return skip(device);
  if (status.ending === 'oom') {
    const cause = status.verdict?.cause ?? 'undecided';
    const words = statusWords(status);
    if (isEnvironmentFailure(status)) return skip(`${words}: another process held the memory, not this commit`);
    if (criterion.kind === 'cause') {
      if (cause === criterion.cause) return { run, judgement: 'bad', reason: words };
      return skip(`${words}, not the hunted ${criterion.cause.replaceAll('_', ' ')}`);
    }
    if (cause === 'host_oom' && hunted?.status.verdict?.cause !== 'host_oom')
      return skip(`${words}: the host's memory, not the device's`);
    const difference = hunted === null ? undefined : differsFrom(run, hunted);
    return difference === undefined ? { run, judgement: 'bad', reason: words } : skip(`a different OOM: ${difference}`);
  }
  const early = notFarEnough(run, golden, hunted);
  if (early !== undefined) return skip(early);
  return { run, judgement: 'good', reason: status.ending === 'completed' ? 'it came to its end' : statusWords(status) };
}

/** What distinguishes this OOM from the hunted one; undefined where they agree. */
function differsFrom(run: Measurement, hunted: Measurement): string | undefined {
  const [own, theirs] = [run.status.verdict, hunted.status.verdict];
  if (own === null || theirs === null || own.cause === 'undecided' || theirs.cause === 'undecided') return undefined;
  if (own.cause !== theirs.cause)
    return `${own.cause.replaceAll('_', ' ')} instead of ${theirs.cause.replaceAll('_', ' ')}`;
  const differsInDetail =
    own.detail !== theirs.detail && (own.cause === 'external_pressure' || own.cause === 'host_oom');
  return differsInDetail ? `${own.detail ?? 'unknown'} instead of ${theirs.detail ?? 'unknown'}` : undefined;
}

/** Why a run that did not run out of memory shows nothing; undefined if it came far enough. */
function notFarEnough(
  run: Measurement,
  golden: readonly Measurement[],
  hunted: Measurement | null,
): string | undefined {
  const { status } = run;
  switch (status.ending) {
    case 'completed':
    case 'oom':
      return undefined;
    case 'no_training':
      // A script that only dumps a snapshot, as the golden one does.
      if (run.peaks.length > 0 && golden.every((one) => one.status.ending === 'no_training')) return undefined;
      return 'no iteration is in its output: nothing was trained, or nothing was logged';
    case 'failed': {
      const { failure } = status;
      const kind = failure?.kind.replaceAll('_', ' ') ?? 'unknown failure';
      const flaky = isEnvironmentFailure(status) ? ', which comes and goes' : '';
      return `it died of something else: ${kind}${flaky}${failure === null ? '' : ` (${failure.text.slice(0, 120)})`}`;
    }
    case 'stopped': {
      const passed =
        golden.some((one) => cameAsFar(status, one.status)) ||
        (hunted?.status.last_iteration != null && (status.last_iteration ?? 0) > hunted.status.last_iteration);
      return passed ? undefined : `${statusWords(status)}, before what is hunted could show`;
    }
  }
}

function byItsFigures(run: Measurement, { golden, hunted, criterion }: CommitInput): RunView {
  const skip = (reason: string): RunView => ({ run, judgement: 'skip', reason });
  const device = otherDevice(run, golden[0]!);
  if (device !== undefined) return skip(device);
  if (run.status.ending === 'oom') {
    if (criterion.kind === 'throughput') return skip(`${statusWords(run.status)}, which is not what is hunted`);
    if (isEnvironmentFailure(run.status)) return skip(`${statusWords(run.status)}: another process held the memory`);
    return { run, judgement: 'figures', reason: statusWords(run.status) };
  }
  const early = notFarEnough(run, golden, hunted);
  return early === undefined ? { run, judgement: 'figures', reason: statusWords(run.status) } : skip(early);
}

function judgeFigures(
  { criterion, goldenName, hunted, tolerances }: CommitInput,
  usable: readonly Measurement[],
  golden: readonly Measurement[],
  seen: readonly TriageEvidence[],
): CommitJudgement {
  const sameLayout = compareContract(golden[0]!, usable[0]!).every(({ group, same }) => group !== 'layout' || same);
  const input: CheckInput = { golden, current: usable, tolerances, sameLayout };
  const checks = criterionChecks(criterion, { ...input, tolerances: huntedTolerances(criterion, input, hunted) });
  const evidence = [...seen, ...checks.map((check) => ({ text: checkWords(check), source: `golden ${goldenName}` }))];
  const died = usable.some(({ status }) => status.ending === 'oom');
  const [bad] = checks
    .filter(({ status }) => status === 'regression')
    .sort((a, b) => Math.abs(b.relative ?? 0) - Math.abs(a.relative ?? 0));
  if (bad !== undefined) return { judgement: 'bad', reason: checkWords(bad), evidence, checks };
  if (checks.length === 0)
    return {
      judgement: 'skip',
      reason: `its output has no figures for --on ${criterionText(criterion)}`,
      evidence,
      checks,
    };
  if (died)
    return {
      judgement: 'skip',
      reason: `${statusWords(usable[0]!.status)}, though not by what is hunted: ${checkWords(checks[0]!)}`,
      evidence,
      checks,
    };
  const unsure = checks.find(({ status }) => status === 'undecided');
  if (unsure !== undefined)
    return {
      judgement: 'skip',
      reason: `within the noise: ${checkWords(unsure)}${unsure.reason === null ? '' : ` (${unsure.reason})`}`,
      evidence,
      checks,
    };
  return { judgement: 'good', reason: checkWords(checks[0]!), evidence, checks };
}

/** Runs of one commit that disagree show that it is not the commit that decides. */
function combine(views: readonly RunView[]): Pick<CommitJudgement, 'judgement' | 'reason'> {
  const bad = views.filter(({ judgement }) => judgement === 'bad');
  const good = views.filter(({ judgement }) => judgement === 'good');
  if (bad.length > 0 && good.length > 0)
    return {
      judgement: 'skip',
      reason: `its runs disagree: ${formatCount(bad.length)} bad (${bad[0]!.reason}), ${formatCount(good.length)} good`,
    };
  const decisive = bad[0] ?? good[0] ?? views.at(-1)!;
  return { judgement: decisive.judgement === 'figures' ? 'skip' : decisive.judgement, reason: decisive.reason };
}

function sourceOf({ status, run }: Measurement): string {
  return status.failure === null ? run : `${status.failure.file} line ${formatCount(status.failure.line)}`;
}

const percent = (value: number): string => `${value < 0 ? '−' : '+'}${(100 * Math.abs(value)).toFixed(1)} %`;

/** `peak allocated 58.1 GiB against 54.8 GiB: +6.1 %, tolerance 2.0 %`. */
export function checkWords({ name, golden, current, unit, relative, tolerance, noise }: CompareCheck): string {
  const figure = (value: number | string | null): string => {
    if (typeof value !== 'number') return value ?? 'unknown';
    return unit === 'bytes' ? formatBytes(value) : `${value.toFixed(1)} ${unit}`;
  };
  const words = name.replaceAll('_', ' ');
  const change = relative === null ? '' : `: ${percent(relative)}`;
  const limit = tolerance === null ? '' : `, tolerance ${(100 * tolerance).toFixed(1)} %`;
  const band =
    noise === null || typeof golden !== 'number' || golden === 0 || noise / golden < 0.0005
      ? ''
      : `, noise ±${((100 * noise) / Math.abs(golden)).toFixed(1)} %`;
  return `${words} ${figure(current)} against ${figure(golden)}${change}${limit}${band}`;
}

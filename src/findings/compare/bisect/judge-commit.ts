/**
 * One commit of a bisection, by the runs it has so far: good, bad, or undecided. A commit is bad only for what is
 * hunted; any other failure of its runs is not evidence, and a run counts as good only if it passed the point where the
 * hunted one would have failed.
 */

import { MbfError } from '../../../model/errors.js';
import type { Measurement } from '../../../model/measurement.js';
import type { CommitJudgement, ContractEntry, Judgement, JudgementReason } from '../../../model/results/compare.js';
import { statusWords } from '../../../model/status-words.js';
import { formatCount } from '../../../model/units.js';
import type { Store } from '../../../store/store.js';
import { compareContract } from '../../measure/contract.js';
import type { Tolerances } from '../../measure/tolerances.js';
import { judgeEndings } from '../judge-checks.js';
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

/** A run of the commit, with what the rules make of its ending. */
interface JudgedRun {
  readonly run: Measurement;
  /** Other devices are not a change of the code. */
  readonly device: ContractEntry | undefined;
  readonly sameLayout: boolean;
  /** It failed, and not for its code. */
  readonly isOfEnvironment: boolean;
  /** It went as far as a golden run. */
  readonly cameAsFar: boolean;
}

/** Why a single run cannot be judged, or what its ending alone shows. */
interface RunView {
  readonly run: Measurement;
  readonly judgement: Judgement | 'figures';
  readonly why: JudgementReason;
}

/** Throws MBF1009 where the golden values cannot serve: then no commit is to blame. */
export async function judgeCommit(store: Store, input: CommitInput): Promise<CommitJudgement> {
  const { criterion } = input;
  await checkGolden(store, input);
  const byEnding = criterion.kind === 'oom' || criterion.kind === 'cause';
  const judged = await judgedRuns(store, input);
  const views = judged.map((run) => (byEnding ? byItsEnding(run, input) : byItsFigures(run, input)));
  const evidence = views.map(({ run, why }) => ({ run: run.run, why, source: sourceOf(run) }));
  if (byEnding) return { ...combine(views), evidence, checks: [] };
  const usable = undisturbed(
    views.filter(({ judgement }) => judgement === 'figures').map(({ run }) => run),
    criterion,
  );
  if (usable.length === 0) return { judgement: 'skip', why: views.at(-1)!.why, evidence, checks: [] };
  const { sameLayout } = judged.find(({ run }) => run === usable[0])!;
  return judgeFigures(store, input, usable, sameLayout, evidence);
}

async function judgedRuns(store: Store, { golden, runs }: CommitInput): Promise<JudgedRun[]> {
  const endings = await judgeEndings(store, { golden, current: runs });
  const judged: JudgedRun[] = [];
  for (const [i, run] of runs.entries()) {
    const contract = await compareContract(store, golden[0]!, run);
    judged.push({
      run,
      device: contract.find(({ group, blocking }) => group === 'device' && blocking),
      sameLayout: contract.every(({ group, same }) => group !== 'layout' || same),
      isOfEnvironment: endings[i]!.is_environment,
      cameAsFar: endings[i]!.is_as_far,
    });
  }
  return judged;
}

/** Of several runs, those no straggler slowed down, where time is what is judged. */
function undisturbed(runs: readonly Measurement[], criterion: Criterion): readonly Measurement[] {
  const calm = runs.filter(
    ({ disturbances }) => !disturbances.some(({ kind }) => kind === 'straggler' || kind === 'throttling'),
  );
  return criterion.kind === 'throughput' && calm.length > 0 ? calm : runs;
}

async function checkGolden(
  store: Store,
  { criterion, golden, goldenName, hunted, tolerances }: CommitInput,
): Promise<void> {
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
  await huntedTolerances(store, criterion, golden, hunted, { tolerances, sameLayout: true });
}

const otherDevice = ({ key, golden, current }: ContractEntry): JudgementReason => ({
  code: 'other_device',
  key,
  golden,
  current,
});

function byItsEnding(judged: JudgedRun, { criterion, golden, hunted }: CommitInput): RunView {
  const { run, device, isOfEnvironment } = judged;
  const { status } = run;
  const skip = (why: JudgementReason): RunView => ({ run, judgement: 'skip', why });
  const reason = { status, by_ending: true } as const;
  if (device !== undefined) return skip(otherDevice(device));
  if (status.ending === 'oom') {
    const cause = status.verdict?.cause ?? 'undecided';
    if (isOfEnvironment) return skip({ code: 'out_of_reach', ...reason });
    if (criterion.kind === 'cause') {
      if (cause === criterion.cause) return { run, judgement: 'bad', why: { code: 'ending', ...reason } };
      return skip({ code: 'other_cause', status, hunted: criterion.cause });
    }
    if (cause === 'host_oom' && hunted?.status.verdict?.cause !== 'host_oom')
      return skip({ code: 'host_memory', ...reason });
    const difference = hunted === null ? undefined : differsFrom(run, hunted);
    return difference === undefined ? { run, judgement: 'bad', why: { code: 'ending', ...reason } } : skip(difference);
  }
  const early = notFarEnough(judged, golden, hunted, true);
  if (early !== undefined) return skip(early);
  const why: JudgementReason =
    status.ending === 'completed' ? { code: 'came_to_its_end' } : { code: 'ending', ...reason };
  return { run, judgement: 'good', why };
}

/** What distinguishes this OOM from the hunted one; undefined where they agree. */
function differsFrom(run: Measurement, hunted: Measurement): JudgementReason | undefined {
  const [own, theirs] = [run.status.verdict, hunted.status.verdict];
  if (own === null || theirs === null || own.cause === 'undecided' || theirs.cause === 'undecided') return undefined;
  if (own.cause !== theirs.cause) return { code: 'different_oom', own: own.cause, hunted: theirs.cause };
  const differsInDetail =
    own.detail !== theirs.detail && (own.cause === 'external_pressure' || own.cause === 'host_oom');
  return differsInDetail ? { code: 'different_detail', own: own.detail, hunted: theirs.detail } : undefined;
}

/** Why a run that did not run out of memory shows nothing; undefined if it came far enough. */
function notFarEnough(
  { run, isOfEnvironment, cameAsFar }: JudgedRun,
  golden: readonly Measurement[],
  hunted: Measurement | null,
  by_ending: boolean,
): JudgementReason | undefined {
  const { status } = run;
  switch (status.ending) {
    case 'completed':
    case 'oom':
      return undefined;
    case 'no_training':
      // A script that only dumps a snapshot, as the golden one does.
      if (run.peaks.length > 0 && golden.every((one) => one.status.ending === 'no_training')) return undefined;
      return { code: 'nothing_trained' };
    case 'failed':
      return { code: 'died_otherwise', status, is_flaky: isOfEnvironment };
    case 'stopped': {
      const failedAt = hunted?.status.last_iteration;
      const passed = cameAsFar || (failedAt != null && (status.last_iteration ?? 0) > failedAt);
      return passed ? undefined : { code: 'stopped_early', status, by_ending };
    }
  }
}

function byItsFigures(judged: JudgedRun, { golden, hunted, criterion }: CommitInput): RunView {
  const { run, device, isOfEnvironment } = judged;
  const { status } = run;
  const skip = (why: JudgementReason): RunView => ({ run, judgement: 'skip', why });
  const reason = { status, by_ending: false } as const;
  if (device !== undefined) return skip(otherDevice(device));
  const view: RunView = { run, judgement: 'figures', why: { code: 'ending', ...reason } };
  if (status.ending === 'oom') {
    if (criterion.kind === 'throughput') return skip({ code: 'not_hunted', ...reason });
    return isOfEnvironment ? skip({ code: 'out_of_reach', ...reason }) : view;
  }
  const early = notFarEnough(judged, golden, hunted, false);
  return early === undefined ? view : skip(early);
}

async function judgeFigures(
  store: Store,
  { criterion, golden, goldenName, hunted, tolerances }: CommitInput,
  usable: readonly Measurement[],
  sameLayout: boolean,
  seen: CommitJudgement['evidence'],
): Promise<CommitJudgement> {
  const limits =
    hunted === null ? tolerances : await huntedTolerances(store, criterion, golden, hunted, { tolerances, sameLayout });
  const rules = { tolerances: limits, sameLayout };
  const [checks = []] = await criterionChecks(store, criterion, [{ golden, current: usable }], rules);
  const ofChecks = checks.map((check) => ({
    run: null,
    why: { code: 'figure', check } as const,
    source: `golden ${goldenName}`,
  }));
  const judgement = { evidence: [...seen, ...ofChecks], checks };
  const [bad] = checks
    .filter(({ status }) => status === 'regression')
    .sort((a, b) => Math.abs(b.relative ?? 0) - Math.abs(a.relative ?? 0));
  if (bad !== undefined) return { judgement: 'bad', why: { code: 'figure', check: bad }, ...judgement };
  const skip = (why: JudgementReason): CommitJudgement => ({ judgement: 'skip', why, ...judgement });
  const [check] = checks;
  if (check === undefined) return skip({ code: 'no_figures', criterion: criterionText(criterion) });
  if (usable.some(({ status }) => status.ending === 'oom'))
    return skip({ code: 'other_figure', check, status: usable[0]!.status });
  const unsure = checks.find(({ status }) => status === 'undecided');
  if (unsure !== undefined) return skip({ code: 'within_noise', check: unsure });
  return { judgement: 'good', why: { code: 'figure', check }, ...judgement };
}

/** Runs of one commit that disagree show that it is not the commit that decides. */
function combine(views: readonly RunView[]): Pick<CommitJudgement, 'judgement' | 'why'> {
  const bad = views.filter(({ judgement }) => judgement === 'bad');
  const good = views.filter(({ judgement }) => judgement === 'good');
  if (bad.length > 0 && good.length > 0)
    return {
      judgement: 'skip',
      why: { code: 'runs_disagree', bad: bad.length, good: good.length, first: bad[0]!.why },
    };
  const decisive = bad[0] ?? good[0] ?? views.at(-1)!;
  return { judgement: decisive.judgement === 'figures' ? 'skip' : decisive.judgement, why: decisive.why };
}

function sourceOf({ status, run }: Measurement): string {
  return status.failure === null ? run : `${status.failure.file} line ${formatCount(status.failure.line)}`;
}

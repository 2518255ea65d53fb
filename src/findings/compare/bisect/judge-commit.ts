/**
 * One commit of a bisection, by the runs it has so far: good, bad, or undecided. A commit is bad only for what is
 * hunted; any other failure of its runs is not evidence, and a run counts as good only if it passed the point where the
 * hunted one would have failed.
 */

import { MbfError } from '../../../model/errors.js';
import type { Measurement } from '../../../model/measurement.js';
import type {
  CommitJudgement,
  ContractEntry,
  GoldenEvidence,
  Judgement,
  JudgementReason,
  SettingChange,
} from '../../../model/results/compare.js';
import { statusWords } from '../../../model/status-words.js';
import { formatCount } from '../../../model/units.js';
import type { Store } from '../../../store/store.js';
import { type AllowedChanges, compareContract, hasCommonGround, sameLayout } from '../../measure/contract.js';
import { settingChanges } from '../../measure/setting-changes.js';
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
  /** What may differ from the golden run although the contract has it. */
  readonly allowed: AllowedChanges;
}

/** A run of the commit, with what the rules make of its ending. */
interface JudgedRun {
  readonly run: Measurement;
  /** What makes its figures mean something else than those of the golden run. */
  readonly differs: readonly ContractEntry[];
  readonly settings: readonly SettingChange[];
  readonly hasCommonGround: boolean;
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
  const byEnding = isByEnding(criterion);
  const judged = await judgedRuns(store, input);
  const views = judged.map((run) => (byEnding ? byItsEnding(run, input) : byItsFigures(run, input)));
  const evidence = views.map(({ run, why }) => ({ run: run.run, why, source: sourceOf(run) }));
  const basis = { settings: judged[0]!.settings, has_common_settings: judged.every((run) => run.hasCommonGround) };
  if (byEnding) return unexplained({ ...combine(views), evidence, checks: [], ...basis }, input);
  const usable = undisturbed(
    views.filter(({ judgement }) => judgement === 'figures').map(({ run }) => run),
    criterion,
  );
  if (usable.length === 0) return { judgement: 'skip', why: views.at(-1)!.why, evidence, checks: [], ...basis };
  const first = judged.find(({ run }) => run === usable[0])!;
  const judgedBy = await judgeFigures(store, input, usable, first.sameLayout, evidence);
  return unexplained({ ...judgedBy, ...basis, settings: first.settings }, input);
}

/**
 * Neither good nor bad where a setting may be why it is worse, and that setting has nothing to do with what is hunted:
 * the hunted run has it as the golden one has.
 */
function unexplained(judged: CommitJudgement, { golden, hunted, allowed }: CommitInput): CommitJudgement {
  if (judged.judgement !== 'bad' || hunted === null) return judged;
  const settingOf = ({ config, env }: Measurement, key: string): string | null => config[key] ?? env[key] ?? null;
  const change = judged.settings.find(
    ({ key, way, is_contract }) =>
      !is_contract && way !== 'down' && !allowed.includes(key) && settingOf(hunted, key) === settingOf(golden[0]!, key),
  );
  if (change === undefined) return judged;
  return { ...judged, judgement: 'skip', why: { code: 'other_setting', change, judged: judged.why } };
}

/** What the golden values are of. */
export const evidenceOf = (golden: readonly Measurement[]): GoldenEvidence => ({
  runs: golden.length,
  steps: golden[0]!.steps?.count ?? null,
});

/** A commit without a run to judge. */
export function notJudged(why: JudgementReason): CommitJudgement {
  return { judgement: 'skip', why, evidence: [], checks: [], settings: [], has_common_settings: true };
}

async function judgedRuns(store: Store, input: CommitInput): Promise<JudgedRun[]> {
  const { golden, runs, allowed, criterion } = input;
  const figure = criterion.kind === 'throughput' ? 'time' : isByEnding(criterion) ? 'oom' : 'memory';
  const endings = await judgeEndings(store, { golden, current: runs });
  const judged: JudgedRun[] = [];
  for (const [i, run] of runs.entries()) {
    const contract = await compareContract(store, golden[0]!, run, allowed);
    judged.push({
      run,
      differs: contract.filter(({ blocking }) => blocking),
      settings: settingChanges(golden[0]!, run, contract, figure),
      hasCommonGround: hasCommonGround(contract),
      sameLayout: sameLayout(contract),
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
  { criterion, golden, goldenName, hunted, tolerances, allowed }: CommitInput,
): Promise<void> {
  const died = golden.find(({ status }) => status.ending === 'oom' || status.ending === 'failed');
  if (died !== undefined)
    throw new MbfError(
      'MBF1009',
      `golden values ${goldenName}: run ${died.run} did not come to its end (${statusWords(died.status)})`,
    );
  if (hunted !== null && isByEnding(criterion) && hunted.status.ending !== 'oom')
    throw new MbfError(
      'MBF1009',
      `run ${hunted.run} (--like) did not run out of memory: ${statusWords(hunted.status)}`,
    );
  const [differs] =
    hunted === null
      ? []
      : (await compareContract(store, golden[0]!, hunted, allowed)).filter(({ blocking }) => blocking);
  if (differs !== undefined)
    throw new MbfError(
      'MBF1009',
      `run ${hunted!.run} (--like) is not comparable with the golden run: ${differs.key} ${differs.golden} → ${differs.current}`,
    );
  // Whether they can judge at all, before anything of this commit is looked at.
  await huntedTolerances(store, criterion, golden, hunted, { tolerances, sameLayout: true });
}

const isByEnding = ({ kind }: Criterion): boolean => kind === 'oom' || kind === 'cause';

function byItsEnding(judged: JudgedRun, { criterion, golden, hunted }: CommitInput): RunView {
  const { run, differs, isOfEnvironment } = judged;
  const { status } = run;
  const skip = (why: JudgementReason): RunView => ({ run, judgement: 'skip', why });
  const reason = { status, by_ending: true } as const;
  if (differs.length > 0) return skip({ code: 'not_comparable', differs });
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
  const { run, differs, isOfEnvironment } = judged;
  const { status } = run;
  const skip = (why: JudgementReason): RunView => ({ run, judgement: 'skip', why });
  const reason = { status, by_ending: false } as const;
  if (differs.length > 0) return skip({ code: 'not_comparable', differs });
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
): Promise<Pick<CommitJudgement, 'judgement' | 'why' | 'evidence' | 'checks'>> {
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
  const skip = (why: JudgementReason) => ({ judgement: 'skip', why, ...judgement }) as const;
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

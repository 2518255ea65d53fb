/** `mbforensics bisect report`: from what a bisection left behind to what it found. */

import { join } from 'node:path';
import { isAncestor, suspectCommits } from '../../../git/commits.js';
import { compareCommits } from '../../../git/compare-commits.js';
import { listCommits } from '../../../git/list-commits.js';
import { parseBisectLog } from '../../../git/parse-bisect-log.js';
import type { Repository } from '../../../git/repository.js';
import { resolveRevision } from '../../../git/resolve-revision.js';
import { MbfError } from '../../../model/errors.js';
import type { CommitInfo } from '../../../model/git.js';
import { minOf } from '../../../model/lists.js';
import type { Measurement } from '../../../model/measurement.js';
import type { BisectReportResult, BisectSide } from '../../../model/results/bisect.js';
import type { FoundSuspect, SettingChange } from '../../../model/results/compare.js';
import { sentencesOf, type Text, type Unworded } from '../../../model/statement.js';
import type { Store } from '../../../store/store.js';
import { type KnownMark, knownMarks, type Progress, progressOf } from '../../compare/bisect/bisect-state.js';
import { allChecks } from '../../compare/compare-runs.js';
import { pairPeaks, siteChanges } from '../../compare/site-changes.js';
import { changedConfig, changedEnv } from '../../measure/changed-values.js';
import { compareContract, hasCommonGround } from '../../measure/contract.js';
import { settingChanges } from '../../measure/setting-changes.js';
import { parseTolerances } from '../../measure/tolerances.js';
import { knobEffect } from '../../settings/knob-effects.js';
import { isOfInterest } from '../../suspects/rank-suspects.js';
import { grownBetween, suspectsBetween } from '../suspects-between.js';
import { changedSettings, hidingSettings } from './changed-settings.js';
import type { JudgementRecord } from './records.js';
import type { ReadSession } from './session.js';

const sentence = sentencesOf('bisect');

type BisectReport = Pick<BisectReportResult, 'checks'> &
  Unworded<Omit<BisectReportResult, 'checks'>, 'reason' | 'confidence_reason' | 'why_skipped' | 'notes'>;

export async function describeBisection(
  store: Store,
  repository: Repository,
  session: ReadSession,
  measureRun: (run: string) => Promise<Measurement>,
): Promise<BisectReport> {
  const { record, judgements } = session;
  const log = session.log === '' ? undefined : parseBisectLog(session.log);
  const marks = knownMarks(log, judgements);
  const skipped = new Map(marks.flatMap(({ sha, judgement, reason }) => (judgement === 'skip' ? [[sha, reason]] : [])));
  const [goods, bads] = [await idsOf(repository, marks, 'good'), await idsOf(repository, marks, 'bad')];
  const reach: CommitInfo[][] = [];
  // One after the other: a log may have any number of them.
  if (goods.length > 0) for (const sha of bads) reach.push(await suspectCommits(repository, sha, goods));
  const progress = progressOf(marks, reach);
  const { bad } = progress;
  const byCommit = new Map(judgements.map((one) => [one.sha, one]));
  const after = bad === null ? null : sideOf(byCommit.get(bad.sha));
  const before = bad === null ? null : await lastGood(repository, progress.culprit ?? bad, judgements);
  const measure = async (side: BisectSide | null): Promise<Measurement | null> =>
    side === null ? null : measureRun(side.run);
  const [a, b] = [await measure(before), await measure(after)];
  const figure =
    record.criterion === 'throughput' ? 'time' : /^(?:oom|cause:)/.test(record.criterion) ? 'oom' : 'memory';
  const changes = a === null || b === null ? [] : settingChanges(a, b, await compareContract(store, a, b), figure);
  // The bad commit ends what the setting of a good one saved: where the code changed is not known.
  const hiding = before === null ? [] : hidingSettings(byCommit.get(before.sha)!);
  const hidden = hiding.filter(({ key }) => changes.some((change) => change.key === key && change.way !== 'down'));
  const { state, culprit, left } =
    hidden.length === 0 ? progress : await notCleared(repository, progress, marks, byCommit);
  const places = new Map((await listCommits(repository)).map(({ sha }, place) => [sha, place]));
  const notes: Text[] = [];
  if (goods.length === 0) notes.push(sentence('no_good'));
  if (bads.length === 0) notes.push(sentence('no_bad'));
  if (bad !== null && after === null) notes.push(sentence('bad_not_launched', { commit: bad.sha.slice(0, 12) }));
  if (bad !== null && before === null) notes.push(sentence('no_good_launched'));
  const pair = a === null || b === null ? undefined : pairPeaks(a, b);
  const grown = a === null || b === null ? undefined : grownBetween(a, b);
  const from = before?.sha ?? (culprit === null ? undefined : culprit.parents[0]);
  const comparison =
    bad === null || from === undefined
      ? null
      : await compareCommits(repository, culprit?.parents[0] ?? from, bad.sha, isOfInterest(grown?.sites ?? []));
  const direction = record.criterion === 'throughput' ? 'time' : 'memory';
  const checks =
    a === null || b === null
      ? []
      : await allChecks(store, { golden: [a], current: [b] }, parseTolerances(record.tolerance ?? undefined));
  const suspects =
    a === null || b === null || grown === undefined ? [] : suspectsBetween(a, b, grown, comparison, checks, direction);
  const { confidence, reason: confidence_reason } = confidenceOf({
    ...{ state, culprit, before, judged: byCommit, changes, first: suspects[0] },
    unprinted: suspects.flatMap(({ key }) => (key !== undefined && isUnprinted(key, a!, b!) ? [key] : [])),
    hasCommonSettings: a === null || b === null || hasCommonGround(await compareContract(store, a, b)),
  });
  return {
    schema: 'mbforensics/bisect-report@1',
    criterion: record.criterion,
    golden: record.golden,
    state,
    culprit:
      culprit === null
        ? null
        : { sha: culprit.sha, subject: culprit.subject, judged_runs: byCommit.get(culprit.sha)?.runs.length ?? 0 },
    suspects_left: left.map(({ sha, subject }) => ({
      sha,
      subject,
      why_skipped: skipped.get(sha) ?? hidingText(byCommit.get(sha), hidden),
    })),
    steps: judgements.map(({ sha, subject, judgement, reason, runs, checks }) => ({
      place: places.get(sha) ?? null,
      figure: figureOf(checks),
      sha,
      subject,
      judgement,
      runs: runs.length,
      reason,
      bundle: join(session.directory, sha),
    })),
    before,
    after,
    total_delta_bytes: grown?.totalDeltaBytes ?? null,
    components: grown?.components ?? [],
    sites: pair === undefined ? [] : siteChanges(...pair),
    checks,
    config: a === null || b === null ? [] : changedConfig(a, b),
    env: a === null || b === null ? [] : changedEnv(a, b),
    settings: await changedSettings(repository, judgements),
    suspects,
    confidence,
    confidence_reason,
    notes,
  };
}

/** A person judges some hundreds at most. */
const MOST_MARKS = 1_000;

/** Throws MBF1008 for a commit that git lacks, MBF2962 for too many. */
async function idsOf(
  repository: Repository,
  marks: readonly KnownMark[],
  judgement: KnownMark['judgement'],
): Promise<string[]> {
  const marked = marks.filter((mark) => mark.judgement === judgement);
  if (marked.length > MOST_MARKS)
    throw new MbfError('MBF2962', `the log of git bisect calls more than ${MOST_MARKS} commits ${judgement}`, {
      file: repository.gitDir,
    });
  const ids: string[] = [];
  for (const { sha } of marked) ids.push(await resolveRevision(repository, sha));
  return ids;
}

/** The first figure that was judged: of the whole, not of a stage. */
function figureOf(checks: JudgementRecord['checks']): BisectReportResult['steps'][number]['figure'] {
  const check = checks.find(({ current }) => typeof current === 'number');
  return typeof check?.current === 'number' ? { name: check.name, value: check.current, unit: check.unit } : null;
}

/** The first run of a commit that could be measured represents it. */
function sideOf(record: JudgementRecord | undefined): BisectSide | null {
  const run = record?.runs.at(-1);
  return record === undefined || run === undefined ? null : { sha: record.sha, run };
}

/** The parent, if it was judged good; else the good commit judged last that the culprit comes from. */
async function lastGood(
  repository: Repository,
  culprit: CommitInfo,
  judgements: readonly JudgementRecord[],
): Promise<BisectSide | null> {
  const good = judgements.filter(({ judgement, runs }) => judgement === 'good' && runs.length > 0);
  const parent = good.find(({ sha }) => culprit.parents.includes(sha));
  if (parent !== undefined) return sideOf(parent);
  let nearest: { readonly record: JudgementRecord; readonly distance: number } | undefined;
  for (const record of good) {
    if (!(await isAncestor(repository, record.sha, culprit.sha))) continue;
    const distance = (await suspectCommits(repository, culprit.sha, [record.sha])).length;
    if (nearest === undefined || distance < nearest.distance) nearest = { record, distance };
  }
  return sideOf(nearest?.record);
}

/** The range as it is without the good commits whose settings may hide what is hunted. */
async function notCleared(
  repository: Repository,
  { state, culprit, left, bad }: Progress,
  marks: readonly KnownMark[],
  judged: ReadonlyMap<string, JudgementRecord>,
): Promise<Pick<Progress, 'state' | 'culprit' | 'left'>> {
  const cleared = marks.filter(({ sha, judgement }) => {
    const record = judged.get(sha);
    return judgement === 'good' && (record === undefined || hidingSettings(record).length === 0);
  });
  if (bad === null || state === 'unfinished' || cleared.length === 0) return { state, culprit, left };
  const shas = await idsOf(repository, cleared, 'good');
  return { state: 'suspects', culprit: null, left: (await suspectCommits(repository, bad.sha, shas)).toReversed() };
}

function hidingText(record: JudgementRecord | undefined, hidden: readonly SettingChange[]): Text | null {
  const hiding =
    record === undefined ? [] : hidingSettings(record).filter(({ key }) => hidden.some((one) => one.key === key));
  return hiding.length === 0 ? null : sentence('good_hidden', { settings: listed(hiding) });
}

const listed = (changes: readonly SettingChange[]): Text[] =>
  changes.slice(0, 3).map(({ key, golden, current }) => sentence('setting', { key, golden, current }));

/** A setting that the commit changes, and that neither of its runs prints. */
const isUnprinted = (key: string, a: Measurement, b: Measurement): boolean =>
  knobEffect(key) !== undefined && !(key in a.config) && !(key in b.config) && !(key in a.env) && !(key in b.env);

interface ConfidenceFacts {
  readonly state: BisectReportResult['state'];
  readonly culprit: CommitInfo | null;
  readonly before: BisectSide | null;
  readonly judged: ReadonlyMap<string, JudgementRecord>;
  /** Settings that differ between the good run and the bad one. */
  readonly changes: readonly SettingChange[];
  /** The likeliest suspect: the reason of the confidence is about the same change. */
  readonly first: FoundSuspect | undefined;
  /** Keys that the commit changes and the runs do not print. */
  readonly unprinted: readonly string[];
  readonly hasCommonSettings: boolean;
}

interface Confidence {
  readonly confidence: BisectReportResult['confidence'];
  readonly reason: Text;
}

function confidenceOf(facts: ConfidenceFacts): Confidence {
  const { state, culprit, before, judged, changes, unprinted, first } = facts;
  const low = (reason: Text): Confidence => ({ confidence: 'low', reason });
  const medium = (reason: Text): Confidence => ({ confidence: 'medium', reason });
  if (state === 'unfinished') return low(sentence('not_over'));
  const explains = changes.filter(({ way }) => way !== 'down');
  if (culprit === null)
    return low(
      explains.length === 0 ? sentence('not_judged') : sentence('other_settings', { settings: listed(explains) }),
    );
  const ofCulprit = judged.get(culprit.sha);
  if (ofCulprit === undefined || ofCulprit.runs.length === 0) return low(sentence('never_launched'));
  const [leading] = explains.filter(({ key }) => key === first?.key);
  if (leading !== undefined && first!.file === '') return low(sentence('no_line', { reason: first!.reason }));
  // A setting of the commit that bears on the cause of the failure is the answer; of live memory, the code may be too.
  const furtherChanges = first?.cause === undefined ? explains : explains.filter((change) => change !== leading);
  if (furtherChanges.length > 0)
    return low(
      leading === furtherChanges[0]
        ? sentence('code_unknown', { reason: first!.reason })
        : sentence('settings_differ', { settings: listed(furtherChanges) }),
    );
  if (unprinted.length > 0) return low(sentence('not_printed', { keys: unprinted.slice(0, 3) }));
  if (before === null || !culprit.parents.includes(before.sha)) return medium(sentence('parent_not_launched'));
  const margin = minOf(ofCulprit.checks.filter(({ status }) => status === 'regression').map(marginOf));
  if (Number.isFinite(margin) && margin < 1.5) return medium(sentence('near_tolerance'));
  if (!facts.hasCommonSettings) return medium(sentence('no_setting_printed'));
  const reason = sentence('both_judged');
  return {
    confidence: 'high',
    reason: leading === undefined ? reason : sentence('and', { reason, suspect: first!.reason }),
  };
}

/** How many times the tolerance. */
function marginOf({ relative, tolerance }: JudgementRecord['checks'][number]): number {
  return relative === null || tolerance === null || tolerance === 0
    ? Number.POSITIVE_INFINITY
    : Math.abs(relative) / tolerance;
}

/** `mbforensics bisect report`: from what a bisection left behind to what it found. */

import { join } from 'node:path';
import { isAncestor, suspectCommits } from '../../../git/commits.js';
import { compareCommits } from '../../../git/compare-commits.js';
import { parseBisectLog } from '../../../git/parse-bisect-log.js';
import type { Repository } from '../../../git/repository.js';
import type { CommitInfo } from '../../../model/git.js';
import { minOf } from '../../../model/lists.js';
import type { Measurement } from '../../../model/measurement.js';
import type { BisectReportResult, BisectSide } from '../../../model/results/bisect.js';
import type { Store } from '../../../store/store.js';
import { knownMarks, progressOf } from '../../compare/bisect/bisect-state.js';
import { allChecks } from '../../compare/compare-runs.js';
import { pairPeaks, siteChanges } from '../../compare/site-changes.js';
import { changedConfig } from '../../measure/changed-values.js';
import { parseTolerances } from '../../measure/tolerances.js';
import { isOfInterest } from '../../suspects/rank-suspects.js';
import { grownBetween, suspectsBetween } from '../suspects-between.js';
import type { JudgementRecord, ReadSession } from './session.js';

export async function describeBisection(
  store: Store,
  repository: Repository,
  session: ReadSession,
  measureRun: (run: string) => Promise<Measurement>,
): Promise<BisectReportResult> {
  const { record, judgements } = session;
  const log = session.log === '' ? undefined : parseBisectLog(session.log);
  const marks = knownMarks(log, judgements);
  const goods = marks.filter(({ judgement }) => judgement === 'good').map(({ sha }) => sha);
  const bads = marks.filter(({ judgement }) => judgement === 'bad').map(({ sha }) => sha);
  const reach = goods.length === 0 ? [] : await Promise.all(bads.map((sha) => suspectCommits(repository, sha, goods)));
  const { state, culprit, left, bad } = progressOf(marks, reach);
  const byCommit = new Map(judgements.map((one) => [one.sha, one]));
  const after = bad === null ? null : sideOf(byCommit.get(bad.sha));
  const before = bad === null ? null : await lastGood(repository, culprit ?? bad, judgements);
  const measure = async (side: BisectSide | null): Promise<Measurement | null> =>
    side === null ? null : measureRun(side.run);
  const [a, b] = [await measure(before), await measure(after)];
  const notes: string[] = [];
  if (goods.length === 0) notes.push('no commit is known to be good');
  if (bads.length === 0) notes.push('no commit was judged bad');
  if (bad !== null && after === null) notes.push(`the bad commit ${bad.sha.slice(0, 12)} was never launched here`);
  if (bad !== null && before === null)
    notes.push('no good commit was launched here: what the culprit changed cannot be measured');
  const pair = a === null || b === null ? undefined : pairPeaks(a, b);
  const grown = a === null || b === null ? undefined : grownBetween(a, b);
  const from = before?.sha ?? (culprit === null ? undefined : culprit.parents[0]);
  const comparison =
    bad === null || from === undefined
      ? null
      : await compareCommits(repository, culprit?.parents[0] ?? from, bad.sha, isOfInterest(grown?.sites ?? []));
  const direction = record.criterion === 'throughput' ? 'time' : 'memory';
  const { confidence, why } = confidenceOf(state, culprit, before, byCommit);
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
      why_skipped: marks.find((mark) => mark.sha === sha && mark.judgement === 'skip')?.reason ?? null,
    })),
    steps: judgements.map(({ sha, subject, judgement, reason, runs }) => ({
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
    checks:
      a === null || b === null
        ? []
        : await allChecks(store, { golden: [a], current: [b] }, parseTolerances(record.tolerance ?? undefined)),
    config: a === null || b === null ? [] : changedConfig(a, b),
    suspects:
      a === null || b === null || grown === undefined ? [] : suspectsBetween(a, b, grown, comparison, direction),
    confidence,
    confidence_reason: why,
    notes,
  };
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

function confidenceOf(
  state: BisectReportResult['state'],
  culprit: CommitInfo | null,
  before: BisectSide | null,
  judged: ReadonlyMap<string, JudgementRecord>,
): { readonly confidence: BisectReportResult['confidence']; readonly why: string } {
  if (state === 'unfinished') return { confidence: 'low', why: 'the bisection is not over' };
  if (culprit === null)
    return { confidence: 'low', why: 'commits between could not be judged: any of those left may be the one' };
  const marksOfCulprit = judged.get(culprit.sha);
  if (marksOfCulprit === undefined || marksOfCulprit.runs.length === 0)
    return { confidence: 'low', why: 'it was called bad and never launched here' };
  const parentJudged = before !== null && culprit.parents.includes(before.sha);
  if (!parentJudged)
    return { confidence: 'medium', why: 'it was judged bad; its parent was called good and not launched here' };
  const margin = minOf(marksOfCulprit.checks.filter(({ status }) => status === 'regression').map(marginOf));
  if (Number.isFinite(margin) && margin < 1.5)
    return { confidence: 'medium', why: 'it is bad and its parent good, but not by much more than the tolerance' };
  return { confidence: 'high', why: 'it was judged bad and its parent good, both by runs of their own' };
}

/** How many times the tolerance. */
function marginOf({ relative, tolerance }: JudgementRecord['checks'][number]): number {
  return relative === null || tolerance === null || tolerance === 0
    ? Number.POSITIVE_INFINITY
    : Math.abs(relative) / tolerance;
}

/**
 * One question asked of a recording, "what if the allocator had been set so, on a device of that size?", answered
 * within bounds.
 */

import { maxOf, minOf } from '../../model/lists.js';
import type { Recording } from '../replay/recording.js';
import { type AllocatorSettings, PAGE_BYTES } from '../settings.js';
import { MOST_OPERATIONS } from './alternatives.js';
import { runOnce, type WhatIfBase } from './known-runs.js';
import { OPERATION } from './operations.js';
import type { Simulation, SimulationResult, StartLayout } from './simulate.js';

export type WhatIfOutcome =
  /** Every request is served, those that failed in the record too. */
  | 'fits'
  /** Fails at the recorded OOM. */
  | 'same_oom'
  /** Fails at a request that the record shows as served, or at what is live from the start. */
  | 'earlier_oom'
  /** Serves the request of the recorded OOM and fails at one after it. */
  | 'later_oom';

/**
 * `exact`: nothing had to be assumed. `optimistic`, `pessimistic`: what was live before the recording is laid out as
 * well, or as badly, as it can be under the new settings.
 */
export type Bound = 'exact' | 'optimistic' | 'pessimistic';

export interface BoundedResult {
  readonly bound: Bound;
  /** Of the likeliest case. */
  readonly outcome: WhatIfOutcome;
  readonly result: SimulationResult;
  /** In all cases between which the file does not decide. */
  readonly leastPeakReservedBytes: number;
  readonly mostPeakReservedBytes: number;
  /** Pending frees may complete at other moments than in any case: the bounds are estimated, even if they are equal. */
  readonly isEstimated: boolean;
}

export interface WhatIfAnswer {
  /** One result if the start is empty or the layout of the start does not depend on the question, else two. */
  readonly bounds: readonly BoundedResult[];
  /** All bounds, and both orders of new addresses, have the same outcome. */
  readonly robust: boolean;
}

export type WhatIf = Pick<Simulation, 'settings' | 'budgetBytes' | 'takenByOthersBytes' | 'allowedBytes' | 'edits'>;

export function outcomeOf({ operations }: WhatIfBase, result: SimulationResult): WhatIfOutcome {
  if (result.oom === null) return 'fits';
  const last = operations.kind.lastIndexOf(OPERATION.oom);
  if (last < 0) return 'earlier_oom';
  const recorded = operations.seq[last]!;
  if (result.oom.seq === recorded) return 'same_oom';
  return result.oom.seq < recorded ? 'earlier_oom' : 'later_oom';
}

export function askWhatIf(base: WhatIfBase, question: WhatIf): WhatIfAnswer {
  const starts = startsFor(base.recording, question);
  const bounds: BoundedResult[] = [];
  let robust = base.lost?.isCut !== true;
  // New addresses are known from nowhere, and up to torch 2.11 they break ties. Without a limit nothing fails, wherever
  // they are.
  const isLimited = Number.isFinite(question.budgetBytes) || question.allowedBytes !== undefined;
  const directions =
    base.variant.tieBreak === 'address' && isLimited
      ? (['ascending', 'descending'] as const)
      : (['ascending'] as const);
  const cases = [base, ...(base.others ?? [])].map((one) => ({ one, settings: question.settings }));
  const tables = question.settings.openDivisions?.otherTables ?? [];
  const mostTables = Math.floor(MOST_OPERATIONS / base.operations.count);
  robust &&= tables.length <= mostTables;
  for (const roundupPower2Divisions of tables.slice(0, mostTables))
    cases.push({ one: base, settings: { ...question.settings, roundupPower2Divisions } });
  for (const { bound, start } of starts) {
    const results = cases.flatMap(({ one, settings }) =>
      directions.map((direction) => runOnce(one, { ...question, settings, start, direction })),
    );
    const outcome = outcomeOf(base, results[0]!);
    robust &&= results.every((result) => outcomeOf(base, result) === outcome);
    bounds.push({ bound, outcome, result: results[0]!, ...peakBounds(base, question, results) });
  }
  return { bounds, robust: robust && bounds.every(({ outcome }) => outcome === bounds[0]!.outcome) };
}

/**
 * The cases are samples of more: beyond them the peak may change by this part of what they span (seen: up to 0.24), and
 * by this part of the peak.
 */
const SPAN_SHARE = 0.5;
const UNSEEN_SHARE = 0.0025;

/**
 * The peaks of all cases, and beyond them what the cases tried leave open: they are samples where the program may have
 * emptied its cache at any moment, and where pending frees may complete at others. From the first such wait on,
 * what was ever pending at once may be free earlier or later; what was reserved before it is sure.
 */
function peakBounds(
  { lost }: WhatIfBase,
  { budgetBytes, allowedBytes }: WhatIf,
  results: readonly SimulationResult[],
): Omit<BoundedResult, 'bound' | 'outcome' | 'result'> {
  const peaks = results.map((result) => result.peakReservedBytes);
  const [least, most] = [minOf(peaks), maxOf(peaks)];
  const isOpen = lost?.flushes === true && most > least;
  const margin = isOpen ? SPAN_SHARE * (most - least) + UNSEEN_SHARE * most : 0;
  const open = maxOf(results.map((result) => result.openReservedBytes));
  const pending = open > 0 ? (lost?.pendingBytes ?? 0) : 0;
  const sure = minOf(results.map((result) => result.sureReservedBytes));
  const active = minOf(results.map((result) => result.peakActiveBytes));
  const limit = Math.min(budgetBytes, allowedBytes ?? Number.POSITIVE_INFINITY);
  // Frees that complete earlier make less active at once, too.
  const low = Math.min(Math.max(active, least - margin), Math.max(sure, least - pending));
  return {
    isEstimated: pending > 0,
    leastPeakReservedBytes: Math.floor(Math.min(least, low)),
    mostPeakReservedBytes: Math.ceil(Math.max(most, Math.min(limit, Math.max(most + margin, open + pending)))),
  };
}

function startsFor(
  recording: Recording,
  question: WhatIf,
): readonly { readonly bound: Bound; readonly start: StartLayout }[] {
  const { settings } = recording;
  if (recording.start.blocks.count === 0 && recording.start.segments.count === 0)
    return [{ bound: 'exact', start: 'recorded' }];
  if (sameRules(settings, question.settings)) return [{ bound: 'exact', start: 'recorded' }];
  const changesKind = settings.expandableSegments !== question.settings.expandableSegments;
  return [
    { bound: 'optimistic', start: 'packed' },
    { bound: 'pessimistic', start: changesKind ? 'recorded_cuda_malloc' : 'recorded' },
  ];
}

/** Whether two settings place blocks alike. Garbage collection only decides when segments are released. */
function sameRules(a: AllocatorSettings, b: AllocatorSettings): boolean {
  return (
    a.expandableSegments === b.expandableSegments &&
    a.maxSplitBytes === b.maxSplitBytes &&
    a.maxNonSplitRoundingBytes === b.maxNonSplitRoundingBytes &&
    a.largeSegmentBytes === b.largeSegmentBytes &&
    a.roundupPower2Divisions.every((division, i) => Math.max(1, division) === Math.max(1, b.roundupPower2Divisions[i]!))
  );
}

/**
 * The least budget with which every request is served, to the 2 MiB page the driver deals in; null if even `most` is
 * not enough. Bisection, with guesses from the shortage of failed runs. It assumes that more memory never fails
 * earlier, which is true of all recordings seen, and not proven. `least`: less is not tried, unless a run with more
 * reserved less: below what is live at once, an earlier request that failed in the record could fail again, unseen.
 */
export function leastBudget(
  base: WhatIfBase,
  settings: AllocatorSettings,
  start: StartLayout,
  least: number,
  most: number,
  takenByOthersBytes = 0,
): number | null {
  const run = (budgetBytes: number): SimulationResult =>
    runOnce(base, { settings, budgetBytes, takenByOthersBytes, start, direction: 'ascending' });
  const first = run(most);
  if (first.oom !== null) return null;
  // The reserve is a multiple of the page, so budgets between two pages serve like the lower one.
  let low = Math.floor(least / PAGE_BYTES);
  // A run that never had more than its peak would have gone the same way with just that.
  let serves = pagesOf(first.peakReservedBytes);
  let guess = low + 1;
  while (serves - low > 1) {
    const isGuess = guess > low && guess < serves;
    const tried = isGuess ? guess : Math.floor((low + serves) / 2);
    const { oom, peakReservedBytes } = run(tried * PAGE_BYTES);
    if (oom === null) {
      const isPageBelow = tried + 1 === serves;
      serves = Math.min(tried, pagesOf(peakReservedBytes));
      // A failing request waits for pending frees: less may be live than without a limit.
      if (serves <= low) low = 0;
      // One page below a guess usually fails.
      guess = isGuess && !isPageBelow ? serves - 1 : low;
    } else {
      low = tried;
      guess = isGuess ? low : low + Math.ceil(oom.shortBytes / PAGE_BYTES);
    }
  }
  return serves * PAGE_BYTES;
}

const pagesOf = (bytes: number): number => Math.ceil(bytes / PAGE_BYTES);

/**
 * Peaks of memory. Allocated is the gate: reserved depends on the history of the pool, identical work gave 35.9 to 39.0
 * GB. Lines of logs go before snapshots, whose traces may begin late or be cut; first lines are compared with first
 * lines, since Adam's states are born after them.
 */

import { pushAll } from '../../../model/lists.js';
import type { MeasuredPeak, MeasuredRank, Measurement } from '../../../model/measurement.js';
import type { CompareCheck } from '../../../model/results/compare.js';
import { formatBytes, MIB } from '../../../model/units.js';
import { type Judged, judgeChange, type Sample } from '../../measure/noise.js';
import { ASSUMED } from '../../measure/tolerances.js';
import { pairPeaks } from '../site-changes.js';
import { type CheckInput, judgedCheck, skippedCheck } from './check.js';

/** Growth of one component or site by less than this does not cause an out-of-memory error. */
const LEAST_BYTES = 32 * MIB;
const MOST_RANKS_LISTED = 8;

export function memoryChecks(input: CheckInput): CompareCheck[] {
  const checks: CompareCheck[] = [];
  const later = [...input.golden, ...input.current].every((run) => run.ranks.some(hasLaterLine));
  const figure = (rank: MeasuredRank): number | null =>
    later ? rank.peak_allocated_bytes : rank.first_peak_allocated_bytes;
  const of = (run: Measurement): readonly MeasuredRank[] => run.ranks;
  const moment = later ? 'largest of all memory lines' : 'first memory line of each: a side has no other';
  const total = compare(input, of, figure);
  if (total === undefined) pushAll(checks, snapshotPeaks(input));
  else {
    checks.push(peakCheck('peak_allocated', total, input, true, `largest over ranks; ${moment}`));
    pushAll(checks, byPlace(input, figure, total.status === 'regression'));
    // Memory lines are printed between steps; what a run was refused within one is known from its snapshot alone.
    if (input.current.some(({ status }) => status.ending === 'oom') && peakPairs(input) !== undefined)
      pushAll(checks, snapshotPeaks(input));
  }
  const reserved = compare(input, of, (rank) => rank.peak_reserved_bytes);
  if (reserved !== undefined)
    checks.push(
      judgedCheck('peak_reserved', 'bytes', reserved, input.tolerances.memory, {
        gate: false,
        reason: 'beside the gate: what is reserved depends on the history of the pool',
      }),
    );
  pushAll(checks, componentChecks(input));
  return checks;
}

const hasLaterLine = (rank: MeasuredRank): boolean =>
  rank.peak_allocated_bytes !== null &&
  rank.last_iteration !== null &&
  rank.last_iteration > (rank.first_iteration ?? 0);

/** The largest figure over the ranks of each run. Undefined where a run has none. */
function compare(
  { golden, current, tolerances }: CheckInput,
  ranksOf: (run: Measurement) => readonly MeasuredRank[],
  figure: (rank: MeasuredRank) => number | null,
): Judged | undefined {
  const sample = (run: Measurement): Sample | undefined => {
    let best: Sample | undefined;
    for (const rank of ranksOf(run)) {
      const value = figure(rank);
      if (value !== null && (best === undefined || value > best.value))
        best = { value, uncertainty: rank.precision_bytes };
    }
    return best;
  };
  const [a, b] = [golden.flatMap((run) => sample(run) ?? []), current.flatMap((run) => sample(run) ?? [])];
  if (a.length === 0 || b.length === 0) return undefined;
  return judgeChange(a, b, tolerances.memory, ASSUMED.memory, 'higher');
}

/** What a failed run reached is the least it needs. */
function peakCheck(
  name: string,
  judged: Judged,
  { tolerances, current }: CheckInput,
  gate: boolean,
  reason: string,
): CompareCheck {
  const died = current.some(({ status }) => status.ending === 'oom' || status.ending === 'failed');
  const unsure = died && judged.status !== 'regression';
  return judgedCheck(name, 'bytes', judged, tolerances.memory, {
    gate,
    reason: unsure ? `the run died: it needs at least this; ${reason}` : reason,
    ...(unsure ? { status: 'undecided' } : {}),
  });
}

/**
 * Stages are gates of their own: the largest rank may hide another stage's growth. Ranks are reported where they add to
 * the figure of their stage.
 */
function byPlace(
  input: CheckInput,
  figure: (rank: MeasuredRank) => number | null,
  isReported: boolean,
): CompareCheck[] {
  if (!input.sameLayout) return [];
  const stagesOf = (run: Measurement): number[] => run.ranks.flatMap(({ stage }) => (stage === null ? [] : [stage]));
  const stages = [...new Set(input.golden.flatMap(stagesOf))].sort((a, b) => a - b);
  const checks: CompareCheck[] = [];
  const grown = new Set<number>();
  for (const stage of stages.length > 1 ? stages : []) {
    const judged = compare(input, (run) => run.ranks.filter((rank) => rank.stage === stage), figure);
    if (judged === undefined) continue;
    if (judged.status === 'regression') grown.add(stage);
    checks.push(peakCheck(`peak_allocated:stage ${stage}`, judged, input, true, 'largest over the ranks of the stage'));
  }
  const ranks = [...new Set(input.golden.flatMap((run) => run.ranks.flatMap(({ rank }) => rank ?? [])))].sort(
    (a, b) => a - b,
  );
  let listed = 0;
  for (const rank of ranks) {
    const judged = compare(input, (run) => run.ranks.filter((entry) => entry.rank === rank), figure);
    const stage = input.golden[0]!.ranks.find((entry) => entry.rank === rank)?.stage;
    const isKnown = stage == null ? isReported : grown.has(stage);
    if (judged?.status !== 'regression' || isKnown || listed === MOST_RANKS_LISTED) continue;
    listed += 1;
    checks.push(peakCheck(`peak_allocated:rank ${rank}`, judged, input, false, 'this rank'));
  }
  return checks;
}

function snapshotPeaks(input: CheckInput): CompareCheck[] {
  const pairs = peakPairs(input);
  if (pairs === undefined)
    return [
      skippedCheck(
        'peak_allocated',
        'bytes',
        'a side has neither memory lines nor a snapshot of the same rank',
        input.golden.some(
          ({ ranks, peaks }) => ranks.some((rank) => rank.peak_allocated_bytes !== null) || peaks.length > 0,
        ),
      ),
    ];
  const samples = (peaks: readonly MeasuredPeak[]): Sample[] =>
    peaks.map(({ active_bytes }) => ({ value: active_bytes, uncertainty: 0 }));
  const judged = judgeChange(
    samples(pairs.golden),
    samples(pairs.current),
    input.tolerances.memory,
    ASSUMED.memory,
    'higher',
  );
  const [peak] = pairs.current;
  return [peakCheck('peak_active', judged, input, true, peakReason(peak!))];
}

function peakReason({ rank, moment }: MeasuredPeak): string {
  const whose = `snapshots of rank ${rank ?? 'unknown'}`;
  return moment === 'oom' ? `${whose}; with what was refused` : whose;
}

/** Peaks of the same rank of every run that has one. */
export function peakPairs({
  golden,
  current,
}: Pick<CheckInput, 'golden' | 'current'>):
  | { readonly golden: readonly MeasuredPeak[]; readonly current: readonly MeasuredPeak[] }
  | undefined {
  for (const a of golden)
    for (const b of current) {
      const pair = pairPeaks(a, b);
      if (pair === undefined) continue;
      const peaksOfRank = (runs: readonly Measurement[], rank: number | null): MeasuredPeak[] =>
        runs.flatMap((run) => run.peaks.find((peak) => peak.rank === rank) ?? []);
      return { golden: peaksOfRank(golden, pair[0].rank), current: peaksOfRank(current, pair[1].rank) };
    }
  return undefined;
}

function componentChecks(input: CheckInput): CompareCheck[] {
  const pairs = peakPairs(input);
  if (pairs === undefined) return [];
  const names = [
    ...new Set([...pairs.golden, ...pairs.current].flatMap((peak) => Object.keys(peak.components))),
  ].sort();
  return names.map((component) => {
    const samples = (peaks: readonly MeasuredPeak[]): Sample[] =>
      peaks.map(({ components }) => ({ value: components[component as keyof typeof components] ?? 0, uncertainty: 0 }));
    return bytesCheck(`component:${component}`, samples(pairs.golden), samples(pairs.current), input.tolerances.memory);
  });
}

/** A part of a peak: it must also have grown by something that matters. */
export function bytesCheck(
  name: string,
  golden: readonly Sample[],
  current: readonly Sample[],
  tolerance: number,
): CompareCheck {
  const judged = judgeChange(golden, current, tolerance, ASSUMED.memory, 'higher');
  const small = Math.abs(judged.delta) < LEAST_BYTES;
  return judgedCheck(name, 'bytes', judged, tolerance, {
    gate: false,
    ...(small ? { status: 'pass', reason: `changes of less than ${formatBytes(LEAST_BYTES)} do not count` } : {}),
  });
}

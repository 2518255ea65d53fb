/**
 * Figures that both runs have of the same rank: peaks by component, and what memory lines report besides resident
 * bytes.
 */
import { maxBy, sumOf } from '../../model/lists.js';
import type { MeasuredPeak, MeasuredRank, Measurement } from '../../model/measurement.js';
import type { Text } from '../../model/statement.js';
import type { Component } from '../../model/vocabulary.js';
import type { Side } from './side.js';
import { textOf } from './values.js';

const FLOW: readonly Component[] = ['activation', 'logits_loss', 'recompute', 'moe_dispatch'];

function stageOf({ ranks, parallel }: Measurement, rank: number | null): number | null {
  return ranks.find((one) => one.rank === rank)?.stage ?? (parallel.pp === 1 ? 0 : null);
}

/** Rank whose figures are compared first: the one that failed before, else the one with the largest peak there. */
export function focusRank({ diagnosis, measurement }: Side): number | null {
  const failed = measurement.status.ending === 'oom' ? (diagnosis.verdicts[0]?.rank ?? null) : null;
  if (failed !== null) return failed;
  const full = measurement.ranks.filter(({ peak_allocated_bytes: bytes }) => (bytes ?? 0) > 0);
  const fullest = maxBy(full, ({ peak_allocated_bytes: bytes }) => bytes!);
  return fullest?.rank ?? measurement.peaks[0]?.rank ?? null;
}

/** Snapshots of the same rank and stage of both; the rank in focus first. */
export function pairOfPeaks(before: Side, after: Side) {
  const [a, b] = [before.measurement, after.measurement];
  return pairOf(before, a.peaks, b.peaks, (mine, theirs) => stageOf(a, mine.rank) === stageOf(b, theirs.rank));
}

function pairOf<Figures extends { readonly rank: number | null }>(
  side: Side,
  before: readonly Figures[],
  after: readonly Figures[],
  isSameStage: (mine: Figures, theirs: Figures) => boolean,
): { readonly before: Figures; readonly after: Figures } | null {
  const focus = focusRank(side);
  for (const mine of before.toSorted((x, y) => Number(y.rank === focus) - Number(x.rank === focus))) {
    const theirs = after.find((one) => one.rank === mine.rank && isSameStage(mine, one));
    if (theirs !== undefined) return { before: mine, after: theirs };
  }
  return null;
}

/** Memory lines of the same rank and stage of both; null where no rank has any on both sides. */
export function pairOfLines(before: Side, after: Side) {
  const [a, b] = [before.measurement.ranks, after.measurement.ranks];
  return pairOf(before, a, b, (mine, theirs) => mine.stage === theirs.stage);
}

/** Bytes of both, what they are of, and where they are. */
const pairOfBytes = (before: number, after: number, code: string, rank: number | null, source: Text) => ({
  ...{ before, after, source },
  of: textOf(code, { rank }),
});

export function componentBytes({ components }: MeasuredPeak, wanted: readonly Component[]): number {
  return sumOf(wanted.map((one) => components[one] ?? 0));
}

/**
 * Activations and what is made of them, at the peak; by memory lines what the peak has beyond what stays after a step.
 */
export function flowBytes(before: Side, after: Side) {
  const peaks = pairOfPeaks(before, after);
  if (peaks !== null) {
    const [a, b] = [componentBytes(peaks.before, FLOW), componentBytes(peaks.after, FLOW)];
    return pairOfBytes(
      a,
      b,
      'of_peak',
      peaks.before.rank,
      textOf('both', { before: peaks.before.handle, after: peaks.after.handle }),
    );
  }
  const lines = pairOfLines(before, after);
  if (lines === null) return null;
  const beyond = ({ peak_allocated_bytes: peak, allocated_bytes: stays, last_iteration: last }: MeasuredRank) =>
    peak === null || stays === null || (last ?? 0) < 2 ? null : peak - stays;
  const [a, b] = [beyond(lines.before), beyond(lines.after)];
  return a === null || b === null ? null : pairOfBytes(a, b, 'of_beyond', lines.before.rank, textOf('lines_of_both'));
}

/** Allocated after a step, once optimizer states exist. */
export function residentBytes(before: Side, after: Side) {
  const lines = pairOfLines(before, after);
  const [a, b] = [lines?.before.allocated_bytes ?? null, lines?.after.allocated_bytes ?? null];
  if (lines === null || a === null || b === null) return null;
  return pairOfBytes(a, b, 'of_resident', lines.before.rank, textOf('lines_of_both'));
}

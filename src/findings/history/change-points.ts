/**
 * Where a series takes a new level. Designed for real runs: five points or ten thousand, noise of any size (none at all
 * for peaks of one configuration), single outliers, failed runs that give only a lower bound, slow drifts that no
 * commit caused.
 *
 * Calibrated with seeded normal noise: a series in which nothing changes has a change point in 1 to 2 of 100 cases at
 * any length; a step of six σ with four points on either side is found within one point in 95 of 100
 * (`test/findings/history.test.ts`).
 */
import { median } from '../../model/median.js';
import type { HistoryChange, HistoryResult } from '../../model/results/history.js';
import { findDrifts, type Piece } from './find-drifts.js';
import { fitLevels } from './fit-levels.js';
import { noiseOf, redness } from './noise.js';
import { type KnownPoint, levelOf } from './point-levels.js';

export interface TrendPoint {
  /** Null or not a number: not measured; such points are skipped. */
  readonly value: number | null;
  readonly isLowerBound?: boolean | undefined;
}

export interface ChangePointOptions {
  /** Least change as a share of the level before it; smaller ones are not reported. */
  readonly minChange?: number | undefined;
  /**
   * Standard deviation of a point as known from elsewhere, e.g. from repeated runs; used where it is above that of the
   * series.
   */
  readonly noise?: number | undefined;
}

export interface FoundChange extends Pick<HistoryChange, 'before' | 'after' | 'delta' | 'relative' | 'z'> {
  /** The first point that shows the new level, and the last one that shows the old: bounds between them fit either. */
  readonly index: number;
  readonly previous: number;
  /** Every point of the new level is known from below only. */
  readonly isLowerBound: boolean;
}

export interface ChangePoints extends Pick<HistoryResult, 'drifts' | 'noise'> {
  readonly changes: readonly FoundChange[];
  /** Single points far from their level: not a change point, but reported. */
  readonly outliers: HistoryResult['apart'];
}

/** With fewer points, noise cannot be distinguished. */
export const LEAST_POINTS = 5;
export const DEFAULT_MIN_CHANGE = 0.01;

/**
 * Of a change, in units of σ²: 15 keeps false alarms at 1 %, independent of the length, because the loss is bounded.
 */
const PENALTY = 15;
/**
 * Short series hold fewer changes, and their noise is known less precisely; the false alarms there are 2 %.
 */
const PENALTY_PER_POINT = 1.4;
/**
 * Largest cost of a point, as a share of the penalty. Below 1, so that one point at an end is not a change; above 2/3,
 * so that two at an end, or three between, can be.
 */
const CAP_SHARE = 0.8;
/**
 * Least assumed noise, as a share of the smallest change to report: equal values have none, and the fit divides by it.
 */
const FLOOR_SHARE = 0.1;
const LEAST_FLOOR = 1e-9;
/** Variance of a median against that of a mean. */
const MEDIAN_VARIANCE = Math.PI / 2;
/** Variance of a line's end against that of its mean. */
const LINE_END_VARIANCE = 4;
const OUTLIER_SIGMA = 4.5;
const REDNESS_ROUNDS = 4;

/** Deterministic; needs points × (levels seen, at most some thousands) steps. */
export function changePoints(points: readonly TrendPoint[], options: ChangePointOptions = {}): ChangePoints {
  const places: number[] = [];
  const known: KnownPoint[] = [];
  for (const [i, { value, isLowerBound }] of points.entries()) {
    if (value === null || !Number.isFinite(value)) continue;
    places.push(i);
    known.push({ value, isLowerBound: isLowerBound ?? false });
  }
  if (known.length < LEAST_POINTS) return { changes: [], drifts: [], noise: null, outliers: [] };
  const minChange = options.minChange ?? DEFAULT_MIN_CHANGE;
  const exact = known.filter((point) => !point.isLowerBound).map(({ value }) => value);
  const seen = Math.max(noiseOf(exact), options.noise ?? 0);
  const scale = scaleOf(known);
  if (scale === 0) return { changes: [], drifts: [], noise: null, outliers: [] };
  const sigma = Math.max(seen, FLOOR_SHARE * minChange * scale, LEAST_FLOOR * scale);
  const penalty = Math.min(PENALTY, PENALTY_PER_POINT * known.length);

  let factor = 1;
  let steps = fitLevels(known, sigma, penalty, CAP_SHARE * penalty);
  // Residuals that resemble their neighbours make equal levels look different: the penalty grows until it fits what it
  // leaves.
  for (let round = 0; round < REDNESS_ROUNDS; round += 1) {
    const nextFactor = redness(residualsOf(known, steps, sigma));
    if (nextFactor <= factor) break;
    factor = nextFactor;
    steps = fitLevels(known, sigma, factor * penalty, CAP_SHARE * factor * penalty);
  }
  const strict = factor * penalty;
  const pieces = prune(known, findDrifts(known, steps, sigma, strict, CAP_SHARE * strict), sigma, strict, minChange);

  const changes: FoundChange[] = [];
  for (const [k, piece] of pieces.entries()) {
    const before = pieces[k - 1];
    if (before === undefined || !piece.isChange) continue;
    const { delta, relative, variance } = jump(before, piece);
    changes.push({
      ...edgeOf(known, before, piece, places),
      before: before.last,
      after: piece.first,
      delta,
      relative,
      z: seen > 0 ? delta / (seen * Math.sqrt(factor * variance)) : null,
      isLowerBound: piece.isLowerBound,
    });
  }
  const drifts = pieces
    .filter(({ kind, first, last }) => kind === 'line' && isLarge(last - first, first, minChange))
    .map(({ from, to, first, last }) => ({ from: places[from]!, to: places[to - 1]!, before: first, after: last }));
  return {
    changes,
    drifts,
    noise: seen > 0 ? seen : null,
    outliers: outliersOf(known, pieces, sigma, minChange).map(({ index, level }) => ({ index: places[index]!, level })),
  };
}

/** The reference of a change: the median size, or for a series that is mostly 0 the largest. */
function scaleOf(points: readonly KnownPoint[]): number {
  const sizes = points.map(({ value }) => Math.abs(value)).sort((a, b) => a - b);
  return median(sizes) || sizes.at(-1)!;
}

/** Where the old level was last observed and the new one first. */
function edgeOf(
  points: readonly KnownPoint[],
  before: Piece,
  after: Piece,
  places: readonly number[],
): Pick<FoundChange, 'index' | 'previous'> {
  const middle = (before.last + after.first) / 2;
  const rises = after.first > before.last;
  // A bound can only rule out the lower of two levels.
  const shows = ({ value, isLowerBound }: KnownPoint, isHigher: boolean): boolean =>
    !isLowerBound || (isHigher && value > middle);
  let index = after.from;
  while (index < after.to && !shows(points[index]!, rises)) index += 1;
  let previous = before.to - 1;
  while (previous >= before.from && !shows(points[previous]!, !rises)) previous -= 1;
  return {
    index: places[index < after.to ? index : after.from]!,
    previous: places[previous >= before.from ? previous : before.to - 1]!,
  };
}

/** A piece with its reported levels, and whether a change begins it. */
interface FittedPiece extends Piece {
  readonly isChange: boolean;
  readonly isLowerBound: boolean;
}

/**
 * Boundaries too small to report are removed, the least first, until none is; levels on both sides of one are joined.
 */
function prune(
  points: readonly KnownPoint[],
  found: readonly Piece[],
  sigma: number,
  penalty: number,
  minChange: number,
): FittedPiece[] {
  let pieces = found.map((piece, k) => fitPiece(points, piece, k > 0));
  // A level takes in the first points of a slope s until their s²l³/3 exceed the penalty; what then looks like a jump
  // of s·l is a bend.
  const bend = (slope: number): number => Math.cbrt(3 * penalty * sigma ** 2 * slope);
  for (;;) {
    const sizes = pieces.map((piece, k) => {
      if (k === 0 || !piece.isChange) return Number.POSITIVE_INFINITY;
      const before = pieces[k - 1]!;
      const { delta, variance } = jump(before, piece);
      // Two levels were distinguished by the fit; the end of a line has to be distinguished from what follows it now.
      const slope = Math.max(slopeOf(before), slopeOf(piece));
      const isDistinct = slope === 0 || Math.abs(delta) >= Math.max(sigma * Math.sqrt(penalty * variance), bend(slope));
      return isDistinct && isLarge(delta, before.last, minChange) ? Number.POSITIVE_INFINITY : Math.abs(delta);
    });
    const least = (k: number): boolean =>
      sizes[k]! < Number.POSITIVE_INFINITY &&
      sizes[k]! <= (sizes[k - 1] ?? Number.POSITIVE_INFINITY) &&
      sizes[k]! < (sizes[k + 1] ?? Number.POSITIVE_INFINITY);
    if (!sizes.some((size) => size < Number.POSITIVE_INFINITY)) return pieces;
    const next: FittedPiece[] = [];
    for (const [k, piece] of pieces.entries()) {
      const before = next.at(-1);
      if (before === undefined || !least(k)) next.push(piece);
      else if (before.kind === 'level' && piece.kind === 'level')
        next[next.length - 1] = fitPiece(points, { ...before, to: piece.to }, before.isChange);
      else next.push({ ...piece, isChange: false });
    }
    pieces = next;
  }
}

function fitPiece(points: readonly KnownPoint[], piece: Piece, isChange: boolean): FittedPiece {
  if (piece.kind === 'line') return { ...piece, isChange, isLowerBound: false };
  const { value, isLowerBound } = levelOf(points.slice(piece.from, piece.to));
  return { ...piece, first: value, last: value, isChange, isLowerBound };
}

function jump(before: Piece, after: Piece): { delta: number; relative: number | null; variance: number } {
  const delta = after.first - before.last;
  const variance = (piece: Piece): number =>
    (piece.kind === 'line' ? LINE_END_VARIANCE : MEDIAN_VARIANCE) / (piece.to - piece.from);
  return {
    delta,
    relative: before.last === 0 ? null : delta / Math.abs(before.last),
    variance: variance(before) + variance(after),
  };
}

/** Without its sign; 0 for a level. */
function slopeOf({ from, to, first, last }: Piece): number {
  return to - from > 1 ? Math.abs(last - first) / (to - from - 1) : 0;
}

function isLarge(delta: number, before: number, minChange: number): boolean {
  return delta !== 0 && Math.abs(delta) >= minChange * Math.abs(before);
}

/** In σ, without the part that a bounded loss would not count either. */
function residualsOf(points: readonly KnownPoint[], changes: readonly number[], sigma: number): number[] {
  const ends = [...changes, points.length];
  const residuals: number[] = [];
  let from = 0;
  for (const to of ends) {
    const stretch = points.slice(from, to);
    const { value } = levelOf(stretch);
    for (const point of stretch) {
      const off = (point.value - value) / sigma;
      residuals.push(Math.abs(off) > OUTLIER_SIGMA || (point.isLowerBound && off < 0) ? 0 : off);
    }
    from = to;
  }
  return residuals;
}

function outliersOf(
  points: readonly KnownPoint[],
  pieces: readonly Piece[],
  sigma: number,
  minChange: number,
): { index: number; level: number }[] {
  return pieces.flatMap(({ from, to, first, last }) => {
    const slope = to - from > 1 ? (last - first) / (to - from - 1) : 0;
    return points.slice(from, to).flatMap(({ value, isLowerBound }, i) => {
      const level = first + slope * i;
      const off = value - level;
      const isOutlier = Math.abs(off) > OUTLIER_SIGMA * sigma && isLarge(off, level, minChange);
      return isOutlier && !(isLowerBound && off < 0) ? [{ index: from + i, level }] : [];
    });
  });
}

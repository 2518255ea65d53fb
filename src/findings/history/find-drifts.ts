/**
 * Steps that are artefacts: a series that drifts is fitted by a stair whose steps did not happen. Where one straight
 * line explains a stair of one direction as well, the stair is that line.
 */
import { pushAll } from '../../model/lists.js';
import type { KnownPoint } from './point-levels.js';

/** A stretch [from, to) of the series: of one level, or of one straight line. */
export interface Piece {
  readonly from: number;
  readonly to: number;
  /** Fitted values at the first and the last point; equal for a level. */
  readonly first: number;
  readonly last: number;
  readonly kind: 'level' | 'line';
}

/**
 * Running sums for the least squares of any stretch in constant time. Times and values are centred; otherwise their
 * squares would cancel the precision.
 */
interface Sums {
  readonly y: Float64Array;
  readonly yy: Float64Array;
  readonly ty: Float64Array;
  readonly middle: number;
}

/**
 * The cheapest cut of the stair at `changes` into levels and lines: each piece costs its squared residuals in σ², each
 * boundary a penalty and each line another. Points further than √`cap` σ from their level are pulled back to that
 * distance, as when the stair was fitted.
 */
export function findDrifts(
  points: readonly KnownPoint[],
  changes: readonly number[],
  sigma: number,
  penalty: number,
  cap: number,
): Piece[] {
  const starts = [0, ...changes];
  const ends = [...changes, points.length];
  const means: number[] = [];
  const pulled: number[] = [];
  for (let k = 0; k < starts.length; k += 1) {
    const stretch = points.slice(starts[k], ends[k]);
    const mean = pulledMean(stretch, sigma * Math.sqrt(cap));
    means.push(mean.value);
    pushAll(pulled, mean.points);
  }
  const sums = sumsOf(pulled);
  const pieces = starts.length;
  /** Direction of the change before a segment. */
  const direction = means.map((mean, k) => (k === 0 ? 0 : Math.sign(mean - means[k - 1]!)));
  const best = new Float64Array(pieces + 1);
  const from = new Int32Array(pieces + 1);
  best[0] = -penalty;
  for (let end = 1; end <= pieces; end += 1) {
    best[end] = Number.POSITIVE_INFINITY;
    for (let begin = end - 1; begin >= 0; begin -= 1) {
      // A line replaces only changes of one direction.
      if (begin < end - 2 && direction[begin + 1] !== direction[end - 1]) break;
      const residual =
        begin === end - 1
          ? levelResidual(sums, starts[begin]!, ends[end - 1]!)
          : lineOf(sums, starts[begin]!, ends[end - 1]!).residual + penalty * sigma ** 2;
      const total = best[begin]! + penalty + residual / sigma ** 2;
      if (total < best[end]!) {
        best[end] = total;
        from[end] = begin;
      }
    }
  }
  const fitted: Piece[] = [];
  for (let end = pieces; end > 0; end = from[end]!) {
    const begin = from[end]!;
    const a = starts[begin]!;
    const b = ends[end - 1]!;
    const level = means[begin]!;
    if (begin === end - 1) fitted.push({ from: a, to: b, first: level, last: level, kind: 'level' });
    else {
      const { first, last } = lineOf(sums, a, b);
      fitted.push({ from: a, to: b, first, last, kind: 'line' });
    }
  }
  return fitted.reverse();
}

/**
 * The mean of a stretch without the points too far from it, and its points pulled to it. A bound below it counts as
 * equal to it.
 */
function pulledMean(stretch: readonly KnownPoint[], reach: number): { value: number; points: number[] } {
  const sorted = stretch.map(({ value }) => value).sort((a, b) => a - b);
  let value = sorted[Math.floor(sorted.length / 2)]!;
  const pull = (point: KnownPoint): number => {
    const off = point.value - value;
    if (point.isLowerBound && off < 0) return value;
    return value + Math.max(-reach, Math.min(reach, off));
  };
  for (let round = 0; round < 3; round += 1)
    value = stretch.reduce((sum, point) => sum + pull(point), 0) / stretch.length;
  return { value, points: stretch.map(pull) };
}

function sumsOf(values: readonly number[]): Sums {
  const count = values.length;
  const middle = values.reduce((sum, value) => sum + value, 0) / count;
  const y = new Float64Array(count + 1);
  const yy = new Float64Array(count + 1);
  const ty = new Float64Array(count + 1);
  for (let i = 0; i < count; i += 1) {
    const value = values[i]! - middle;
    y[i + 1] = y[i]! + value;
    yy[i + 1] = yy[i]! + value * value;
    ty[i + 1] = ty[i]! + i * value;
  }
  return { y, yy, ty, middle };
}

function levelResidual({ y, yy }: Sums, from: number, to: number): number {
  return Math.max(0, yy[to]! - yy[from]! - (y[to]! - y[from]!) ** 2 / (to - from));
}

/** Least squares over [from, to), which holds at least two points. */
function lineOf(sums: Sums, from: number, to: number): { residual: number; first: number; last: number } {
  const { y, ty, middle } = sums;
  const count = to - from;
  const sumY = y[to]! - y[from]!;
  const centre = (from + to - 1) / 2;
  const spread = (count * (count * count - 1)) / 12;
  const slope = (ty[to]! - ty[from]! - centre * sumY) / spread;
  const mean = middle + sumY / count;
  const half = (slope * (count - 1)) / 2;
  return {
    residual: Math.max(0, levelResidual(sums, from, to) - slope * slope * spread),
    first: mean - half,
    last: mean + half,
  };
}

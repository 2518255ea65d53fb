/**
 * Which iterations say how fast a run is. The first ones contain compilation, autotuning and the birth of optimizer
 * states, and may go on for some while; evaluations and checkpoints lengthen single ones. So warm-up is cut off by
 * looking at the times, and what is left is told by its median and its interquartile range, which single long
 * iterations do not move.
 */

import { maxOf, minOf } from '../../model/lists.js';
import type { MeasuredSteps } from '../../model/measurement.js';
import { median } from '../../model/median.js';

export interface TimedIteration {
  readonly iteration: number;
  readonly stepMs: number | null;
  readonly tflops: number | null;
}

/** A leading iteration that takes so much longer than the later ones is warm-up. */
const WARM_UP_RATIO = 1.15;
/** At most so much of a run is taken for warm-up, beyond its first iteration. */
const MOST_WARM_UP = 0.4;
/** Of a normal distribution, interquartile range / standard deviation. Upstream: scipy `iqr(scale='normal')`. */
const NORMAL = 1.349;

/**
 * Robust standard deviation: interquartile range, scaled. 0 of fewer than two values. Not the median absolute
 * deviation, which is 0 where more than half of the values agree, however far the others are.
 */
export function spread(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const sorted = values.toSorted((a, b) => a - b);
  return (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / NORMAL;
}

/** Of ascending values, with linear interpolation. */
function quantile(sorted: readonly number[], part: number): number {
  const place = part * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below]! + (place - below) * (sorted[above]! - sorted[below]!);
}

/** `rows`: the iteration lines of one launch, in order. Null where fewer than two have a time after the first. */
export function steadySteps(rows: readonly TimedIteration[]): MeasuredSteps | null {
  const timed = rows.filter((row): row is TimedIteration & { stepMs: number } => row.stepMs !== null && row.stepMs > 0);
  // The first line of a launch, whatever it contains.
  const after = timed.slice(1);
  if (after.length === 0) return null;
  const settled = median(after.slice(after.length >> 1).map((row) => row.stepMs));
  const most = Math.floor(after.length * MOST_WARM_UP);
  let skip = 0;
  while (skip < most && after[skip]!.stepMs > settled * WARM_UP_RATIO) skip += 1;
  const window = after.slice(skip);
  const times = window.map((row) => row.stepMs);
  const flops = window.flatMap((row) => (row.tflops === null ? [] : [row.tflops]));
  return {
    from: window[0]!.iteration,
    to: window.at(-1)!.iteration,
    count: window.length,
    independent: independentOf(times),
    warm_up: timed.length - window.length,
    median_ms: median(times),
    spread_ms: spread(times),
    min_ms: minOf(times),
    max_ms: maxOf(times),
    median_tflops: flops.length === 0 ? null : median(flops),
    spread_tflops: flops.length === 0 ? null : spread(flops),
  };
}

/** Steps that differ by more standard deviations count as so many: evaluations and checkpoints. */
const MOST_OFF = 3;

/** By how much neighbours are alike, where that is more than chance. */
function independentOf(times: readonly number[]): number {
  const [centre, most] = [median(times), MOST_OFF * spread(times)];
  const off = times.map((time) => Math.max(-most, Math.min(most, time - centre)));
  const squares = off.reduce((sum, one) => sum + one * one, 0);
  const products = off.reduce((sum, one, i) => sum + (i === 0 ? 0 : one * off[i - 1]!), 0);
  const alike = squares === 0 ? 0 : products / squares;
  return alike > 2 / Math.sqrt(times.length) ? (times.length * (1 - alike)) / (1 + alike) : times.length;
}

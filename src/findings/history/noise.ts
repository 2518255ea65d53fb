/** How much a series varies where nothing changes. */
import { median } from '../../model/median.js';

/**
 * Points of a series that a step or an outlier may spoil without an effect on the estimate: four steps of three
 * differences each.
 */
const SPOILT_DIFFERENCES = 12;
const MOST_KEPT = 0.7;

/**
 * The standard deviation of a series' noise, from the smaller ones of its differences over one and two points: steps
 * and outliers are in the larger ones. Two lags, because those of one lag alone are too few: for eight normal points
 * the estimate is then below half the true value in 4 of 100 cases, and with both lags in 2. 0 where most neighbours
 * are equal, and for fewer than two points.
 */
export function noiseOf(values: readonly number[]): number {
  const differences: number[] = [];
  for (let i = 1; i < values.length; i += 1) {
    differences.push(Math.abs(values[i]! - values[i - 1]!));
    if (i > 1) differences.push(Math.abs(values[i]! - values[i - 2]!));
  }
  const count = differences.length;
  if (count === 0) return 0;
  differences.sort((a, b) => a - b);
  const kept = Math.max(Math.ceil(count / 2), Math.min(Math.ceil(MOST_KEPT * count), count - SPOILT_DIFFERENCES));
  let squares = 0;
  for (let i = 0; i < kept; i += 1) squares += differences[i]! ** 2;
  // Root mean square of the smallest share q of differences of unit normals: √(2 − 4zφ(z)/q), z the (1 + q)/2 quantile.
  // Straight within 1 % from 0.5 to 0.7.
  const share = kept / count;
  return Math.sqrt(squares / kept) / (0.534 + 1.264 * (share - 0.5));
}

/**
 * How much weaker evidence is because neighbouring residuals are alike: (1 + ρ)/(1 − ρ) for the mean of a stretch, and
 * 1/(1 − ρ) for {@link noiseOf}, which uses differences only. 1 unless ρ is significant; short series cannot show it.
 */
export function redness(residuals: readonly number[]): number {
  const count = residuals.length;
  if (count < LEAST_FOR_REDNESS) return 1;
  let squares = 0;
  let products = 0;
  for (let i = 0; i < count; i += 1) {
    squares += residuals[i]! ** 2;
    if (i > 0) products += residuals[i]! * residuals[i - 1]!;
  }
  if (squares === 0) return 1;
  const rho = Math.min(MOST_RHO, products / squares);
  return rho * Math.sqrt(count) < SIGNIFICANT ? 1 : (1 + rho) / (1 - rho) ** 2;
}

const LEAST_FOR_REDNESS = 30;
const MOST_RHO = 0.9;
/** Standard errors of an autocorrelation of white noise. */
const SIGNIFICANT = 2;

/** Fewer repeated runs do not determine how much a run varies. */
const LEAST_REPEATS = 3;

/**
 * The standard deviation of one run among repetitions of the same configuration, from all groups of repetitions;
 * undefined with too few of them.
 */
export function repeatNoise(groups: readonly (readonly number[])[]): number | undefined {
  const differences = groups.flatMap((values) => values.slice(1).map((value, i) => Math.abs(value - values[i]!)));
  if (differences.length < LEAST_REPEATS) return undefined;
  differences.sort((a, b) => a - b);
  // 0.6745 of a normal's standard deviation is its median absolute value; a difference varies √2 times as much as its
  // terms.
  return median(differences) / (0.6745 * Math.SQRT2);
}

/** When a figure has changed: by more than a least effect, and by more than it changes by itself. */

import { maxOf } from '../../model/lists.js';
import { median } from '../../model/median.js';
import type { CheckStatus } from '../../model/results/compare.js';

export interface Sample {
  readonly value: number;
  /** Half-width of what is unknown of this one value: rounding, spread of its steps. */
  readonly uncertainty: number;
}

export interface Judged {
  readonly golden: number;
  readonly delta: number;
  readonly relative: number | null;
  /** Half-width of the uncertainty of `delta`. */
  readonly noise: number;
  readonly status: Extract<CheckStatus, 'pass' | 'regression' | 'improvement' | 'undecided'>;
}

/**
 * Half-widths are this many standard deviations: of a thousand comparisons without a change, a few exceed it on the
 * worse side.
 */
export const SIGMAS = 3;
/** Passing takes two standard deviations: a small change that is missed costs less than a commit that is blamed. */
const TO_PASS = 2 / SIGMAS;
/** The assumption counts like this many additional runs: two or three runs hardly show how much they vary. */
const PRIOR_RUNS = 5;
/** This many runs are enough without the assumption. */
const ENOUGH_RUNS = 6;

/** Standard deviation between runs: what is assumed, corrected by what the golden runs show. */
function betweenRuns(golden: readonly Sample[], assumed: number): number {
  const more = golden.length - 1;
  if (more === 0) return assumed;
  const shown = deviation(golden);
  const pooled = Math.sqrt((PRIOR_RUNS * assumed ** 2 + more * shown ** 2) / (PRIOR_RUNS + more));
  return golden.length < ENOUGH_RUNS ? pooled : Math.max(pooled, shown);
}

/**
 * Golden runs against current ones. `tolerance`: the least relative effect. `assumed`: relative standard deviation
 * between runs, where few golden runs show little. `worse`: the direction that is a regression.
 */
export function judgeChange(
  golden: readonly Sample[],
  current: readonly Sample[],
  tolerance: number,
  assumed: number,
  worse: 'higher' | 'lower',
): Judged {
  const base = median(golden.map(({ value }) => value));
  const now = median(current.map(({ value }) => value));
  const between = betweenRuns(golden, assumed * Math.abs(base));
  const medianUncertainty = (side: readonly Sample[]): number =>
    maxOf(side.map(({ uncertainty }) => uncertainty)) / Math.sqrt(side.length);
  const noise = Math.hypot(
    SIGMAS * between * Math.sqrt(1 / golden.length + 1 / current.length),
    medianUncertainty(golden),
    medianUncertainty(current),
  );
  const delta = now - base;
  const relative = base === 0 ? null : delta / base;
  const limit = tolerance * Math.abs(base);
  const harm = worse === 'higher' ? delta : -delta;
  let status: Judged['status'];
  if (harm - noise > limit) status = 'regression';
  else if (harm + TO_PASS * noise <= limit) status = -harm - noise > limit ? 'improvement' : 'pass';
  else status = 'undecided';
  return { golden: base, delta, relative, noise, status };
}

function deviation(samples: readonly Sample[]): number {
  const mean = samples.reduce((sum, { value }) => sum + value, 0) / samples.length;
  return Math.sqrt(samples.reduce((sum, { value }) => sum + (value - mean) ** 2, 0) / (samples.length - 1));
}

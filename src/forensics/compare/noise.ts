/** When a figure has changed: by more than a least effect, and by more than it changes by itself. */
import type { CheckStatus } from '../../model/compare-results.js';
import { median } from '../measure/steady-window.js';

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

/** Half-widths are this many standard deviations: of a thousand comparisons without a change, about three exceed it. */
export const SIGMAS = 3;
/** Of a small sample the deviation is underestimated; factors of Student's t at that level, by number of runs. */
const SMALL_SAMPLE: readonly number[] = [1, 1, 4.6, 2.2, 1.7, 1.5, 1.35, 1.3, 1.25, 1.2];

/**
 * Golden runs against current ones. `tolerance`: the least relative effect. `assumed`: relative standard deviation between runs where a single
 * golden run shows none. `worse`: the direction that is a regression.
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
  const between =
    golden.length < 2 ? assumed * Math.abs(base) : deviation(golden) * (SMALL_SAMPLE[golden.length] ?? 1.15);
  const own = (side: readonly Sample[]): number =>
    Math.max(...side.map(({ uncertainty }) => uncertainty)) / Math.sqrt(side.length);
  const noise = Math.hypot(
    SIGMAS * between * Math.sqrt((golden.length < 2 ? 0 : 1 / golden.length) + 1 / current.length),
    own(golden),
    own(current),
  );
  const delta = now - base;
  const relative = base === 0 ? null : delta / base;
  const limit = tolerance * Math.abs(base);
  const harm = worse === 'higher' ? delta : -delta;
  let status: Judged['status'];
  if (harm - noise > limit) status = 'regression';
  else if (harm + noise <= limit) status = -harm - noise > limit ? 'improvement' : 'pass';
  else status = 'undecided';
  return { golden: base, delta, relative, noise, status };
}

function deviation(samples: readonly Sample[]): number {
  const mean = samples.reduce((sum, { value }) => sum + value, 0) / samples.length;
  return Math.sqrt(samples.reduce((sum, { value }) => sum + (value - mean) ** 2, 0) / (samples.length - 1));
}

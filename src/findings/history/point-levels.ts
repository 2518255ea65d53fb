/** The level of a stretch of points, some of which are lower bounds. */
import { median } from '../../model/median.js';

/** One point of a series; points without a value are removed before. */
export interface KnownPoint {
  readonly value: number;
  /** The true value is at least this one: a failed run had a smaller peak than a complete run would have had. */
  readonly isLowerBound: boolean;
}

export interface Level {
  readonly value: number;
  /** No point of the stretch is exact. */
  readonly isLowerBound: boolean;
}

/**
 * The median; where there are lower bounds, the least level m that minimises Σ|x − m| over exact points plus Σmax(0, b
 * − m) over bounds: a bound below the level has no effect. `points` must not be empty.
 */
export function levelOf(points: readonly KnownPoint[]): Level {
  const exact: number[] = [];
  const bounds: number[] = [];
  for (const { value, isLowerBound } of points) (isLowerBound ? bounds : exact).push(value);
  if (exact.length === 0) return { value: bounds.reduce((most, bound) => Math.max(most, bound)), isLowerBound: true };
  exact.sort((a, b) => a - b);
  const middle = median(exact);
  const above = bounds.filter((bound) => bound > middle).sort((a, b) => a - b);
  if (above.length === 0) return { value: middle, isLowerBound: false };
  // The slope of the sum at m is (exact points up to m) − (exact points above m) − (bounds above m).
  const candidates = [...exact, ...above].sort((a, b) => a - b);
  let upTo = 0;
  let passed = 0;
  for (const candidate of candidates) {
    while (upTo < exact.length && exact[upTo]! <= candidate) upTo += 1;
    while (passed < above.length && above[passed]! <= candidate) passed += 1;
    if (upTo >= exact.length - upTo + above.length - passed) return { value: candidate, isLowerBound: false };
  }
  return { value: candidates.at(-1)!, isLowerBound: false };
}

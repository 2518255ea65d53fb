/** How checks are made: one record each, with what was judged and why. */

import type { Measurement } from '../../../model/measurement.js';
import type { CheckStatus, CompareCheck } from '../../../model/results/compare.js';
import type { Judged } from '../../measure/noise.js';
import type { Tolerances } from '../../measure/tolerances.js';

export interface CheckInput {
  /** At least one; several are repetitions of the same thing. */
  readonly golden: readonly Measurement[];
  readonly current: readonly Measurement[];
  readonly tolerances: Tolerances;
  /** Whether ranks and stages of both mean the same. */
  readonly sameLayout: boolean;
}

export function judgedCheck(
  name: string,
  unit: string,
  judged: Judged,
  tolerance: number,
  more: { readonly gate: boolean; readonly reason?: string | null; readonly status?: CheckStatus },
): CompareCheck {
  const { golden, delta, relative, noise, status } = judged;
  return {
    name,
    golden,
    current: golden + delta,
    unit,
    delta,
    relative,
    tolerance,
    status: more.status ?? status,
    gate: more.gate,
    noise,
    reason: more.reason ?? null,
  };
}

/**
 * A check that cannot be judged, because a side lacks the figure. What the golden run has and the other lacks is a gate
 * that stays undecided.
 */
export function skippedCheck(name: string, unit: string, reason: string, isGate = false): CompareCheck {
  return {
    name,
    golden: null,
    current: null,
    unit,
    delta: null,
    relative: null,
    tolerance: null,
    status: isGate ? 'undecided' : 'skipped',
    gate: isGate,
    noise: null,
    reason,
  };
}

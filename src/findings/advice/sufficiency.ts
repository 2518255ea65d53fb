/** Whether the step fits after a change. Only then a fix is `enough`. */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { EstimatedChange } from './estimate-change.js';
import { figure, neededBytes, type Situation, shortfallOf, wholeStepOf } from './situation.js';

/** What a step needed and what it could have, in bytes; null where not known. */
export interface StepFigures {
  /** By which the request failed. */
  readonly shortBytes: number | null;
  /** What the process could have. */
  readonly limitBytes: number | null;
  /** The peak of a step like the last whole one. */
  readonly projectedBytes: number | null;
  /** The upper bound of the estimate, of the stage that failed. */
  readonly estimatedBytes: number | null;
  /** Live and asked bytes beyond the estimate's upper bound: what it does not model. */
  readonly unmodelledBytes: number;
  /** Whether the estimate has what filled the device. */
  readonly isModelled: boolean;
}

/** What the estimate leaves out: a dense mask, copies for a checkpoint, and what no step needs. */
const NOT_MODELLED: ReadonlySet<string> = new Set([
  'check_shape',
  'sharded_checkpoint',
  'load_to_host',
  'less_rounding',
  'split_tensor',
]);
const PROJECTION_DOUBT = threshold('advice.projection_doubt');

/** `estimatedBytes`: the upper bound of the estimate on the stage that failed; null without an estimate. */
export function stepFigures(situation: Situation, estimatedBytes: number | null): StepFigures {
  const { verdict } = situation;
  const outcome = wholeStepOf(situation);
  // Where the evidence does not name the outcome, the failing step is not known to be like those before it.
  const projected = outcome === null || outcome === 'unlike' ? null : figure(situation, 'projected_bytes');
  return {
    shortBytes: shortfallOf(situation).bytes,
    limitBytes: figure(situation, 'limit_bytes'),
    projectedBytes: projected,
    estimatedBytes,
    unmodelledBytes: Math.max(0, (neededBytes(situation) ?? 0) - (estimatedBytes ?? Number.POSITIVE_INFINITY)),
    isModelled: estimatedBytes !== null && !verdict.steps.some(({ kind }) => NOT_MODELLED.has(kind)),
  };
}

/**
 * Null where it is not known. A saving smaller than the shortfall of the request is never enough; a larger one is only
 * where the projected step, or the upper bound of the estimate after the change, fits as well.
 */
export function isEnough(
  figures: StepFigures,
  savingBytes: number | null,
  change: EstimatedChange | null,
): boolean | null {
  const { shortBytes, limitBytes, projectedBytes, unmodelledBytes, isModelled } = figures;
  if (savingBytes === null || shortBytes === null) return null;
  if (savingBytes < shortBytes) return false;
  if (limitBytes === null) return null;
  if (projectedBytes !== null) {
    const over = projectedBytes - limitBytes;
    const doubt = PROJECTION_DOUBT * projectedBytes;
    if (savingBytes < over - doubt) return false;
    if (savingBytes >= over + doubt) return true;
  }
  if (!isModelled || change === null) return null;
  if (change.after_low_bytes + unmodelledBytes > limitBytes) return false;
  if (savingBytes < change.before_bytes + unmodelledBytes - limitBytes) return null;
  return change.after_high_bytes + unmodelledBytes <= limitBytes ? true : null;
}

/** Whether the step, as it is, fits a limit; null where it is not known. */
export function fitsWithin(figures: StepFigures, limitBytes: number): boolean | null {
  const { projectedBytes, estimatedBytes, unmodelledBytes, isModelled } = figures;
  if (projectedBytes !== null) {
    if (projectedBytes * (1 + PROJECTION_DOUBT) <= limitBytes) return true;
    if (projectedBytes * (1 - PROJECTION_DOUBT) > limitBytes) return false;
  }
  if (!isModelled || estimatedBytes === null) return null;
  return estimatedBytes + unmodelledBytes <= limitBytes ? true : null;
}

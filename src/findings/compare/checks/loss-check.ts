/** Whether the loss is a number: a run that is fast because it computes NaN is not a good run. */

import type { Measurement } from '../../../model/measurement.js';
import type { CompareCheck } from '../../../model/results/compare.js';
import { type CheckInput, skippedCheck } from './check.js';

export function lossCheck({ golden, current, tolerances }: CheckInput): CompareCheck {
  const base = golden.find(hasLoss);
  const now = current.find(hasLoss);
  const broken = current.find(
    ({ series }) => series.loss.length > 0 && series.loss.every((value) => value === null) && base !== undefined,
  );
  if (broken !== undefined && now === undefined) {
    return {
      ...skippedCheck('loss', '1', 'every loss of the run is NaN, infinite or missing'),
      status: 'regression',
      gate: true,
    };
  }
  if (base === undefined || now === undefined) return skippedCheck('loss', '1', 'a side prints no loss');
  const known = new Map(base.series.iteration.map((iteration, i) => [iteration, base.series.loss[i]!]));
  let last: { readonly iteration: number; readonly a: number; readonly b: number } | undefined;
  for (const [i, iteration] of now.series.iteration.entries()) {
    const [a, b] = [known.get(iteration), now.series.loss[i]!];
    if (a != null && b !== null) last = { iteration, a, b };
  }
  if (last === undefined) return skippedCheck('loss', '1', 'no iteration has a loss on both sides');
  const delta = last.b - last.a;
  const relative = last.a === 0 ? null : delta / Math.abs(last.a);
  const off = relative !== null && relative > tolerances.loss;
  return {
    name: 'loss',
    golden: last.a,
    current: last.b,
    unit: '1',
    delta,
    relative,
    tolerance: tolerances.loss,
    status: off ? 'regression' : 'pass',
    gate: false,
    noise: null,
    reason: `at iteration ${last.iteration}, the last that both have`,
  };
}

const hasLoss = ({ series }: Measurement): boolean => series.loss.some((value) => value !== null);

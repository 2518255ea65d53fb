/** Values by iteration, thinned: what the upstream presets judge, and what shows whether the loss diverged. */

import { type MeasuredSeries, MOST_POINTS } from '../../model/measurement.js';
import type { IterationRow } from '../../model/results/log.js';
import type { QueryRow } from '../../store/query-catalog.js';

type StepMetrics = QueryRow<'measure.step_metrics'>;

/**
 * Of each iteration its last line; every nth of them where there are too many, with the first and the last. `metrics`
 * are what event files and the like hold of each step.
 */
export function measureSeries(rows: readonly IterationRow[], metrics: readonly StepMetrics[] = []): MeasuredSeries {
  const byIteration = new Map<number, IterationRow>();
  for (const row of rows) byIteration.set(row.iteration, row);
  const all = [...byIteration.values()].sort((a, b) => a.iteration - b.iteration);
  const stride = Math.max(1, Math.ceil(all.length / MOST_POINTS));
  const kept = all.filter((_, i) => i % stride === 0 || i === all.length - 1);
  const metricsByIteration = new Map(metrics.map((step) => [step.iteration, step]));
  const recorded = (name: 'allocated_bytes' | 'max_allocated_bytes' | 'num_zeros') => {
    const values = kept.map(({ iteration }) => metricsByIteration.get(iteration)?.[name] ?? null);
    return values.some((value) => value !== null) ? { [name]: values } : {};
  };
  return {
    iteration: kept.map((row) => row.iteration),
    loss: kept.map((row) => row.loss),
    step_ms: kept.map((row) => row.step_ms),
    tflops: kept.map((row) => row.tflops_per_gpu),
    grad_norm: kept.map((row) => row.grad_norm),
    ...recorded('allocated_bytes'),
    ...recorded('max_allocated_bytes'),
    ...recorded('num_zeros'),
  };
}

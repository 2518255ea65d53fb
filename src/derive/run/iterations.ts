/** Iteration lines and what they amount to. */
import { pick } from '../../model/pick.js';
import type { IterationSummary, IterationsResult } from '../../model/results/log.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

function summarise(row: QueryRow<'log.iteration_summary'>): IterationSummary {
  return {
    count: row.count,
    copies: row.copies,
    distinct: row.distinct_iterations,
    ...pick(row, ['first', 'last', 'lowest', 'highest', 'target']),
    monotonic: row.attempt === null ? row.rises : row.rises_in_attempts,
    timed: row.timed,
    median_step_ms: row.median_ms,
    mean_step_ms: row.mean_ms,
    p95_step_ms: row.p95_ms,
    min_step_ms: row.min_ms,
    max_step_ms: row.max_ms,
    steady: {
      timed: row.steady_timed,
      median_step_ms: row.steady_median_ms,
      mean_step_ms: row.steady_mean_ms,
      p95_step_ms: row.steady_p95_ms,
      min_step_ms: row.steady_min_ms,
      max_step_ms: row.steady_max_ms,
      left_out: row.left_out,
      median_tflops_per_gpu: row.steady_median_tflops,
      mean_tflops_per_gpu: row.steady_mean_tflops,
    },
    mean_step_ms_excluding_first: row.steady_mean_ms,
    median_tflops_per_gpu: row.median_tflops,
    ...pick(row, ['last_loss', 'skipped_iterations', 'nan_iterations']),
  };
}

/** A row of the whole run, in addition to one of each attempt, where it printed iterations; else none. */
export async function iterationSummaries(store: Store, runId: number): Promise<QueryRow<'log.iteration_summary'>[]> {
  return store.all('log.iteration_summary', { run_id: runId });
}

/** Of the whole run, and of each attempt that printed iterations. */
export async function summariseIterations(
  store: Store,
  runId: number,
): Promise<Pick<IterationsResult, 'summary' | 'attempts'>> {
  const rows = await store.all('log.iteration_summary', { run_id: runId });
  return {
    // Without lines the run is still a row, of nothing.
    summary: summarise(rows.find((row) => row.attempt === null)!),
    attempts: rows.flatMap((row) => (row.attempt === null ? [] : [{ attempt: row.attempt, ...summarise(row) }])),
  };
}

export interface IterationsOptions {
  /** Rows to return, the last ones; undefined: all. */
  readonly newest?: number | undefined;
}

export async function describeIterations(
  store: Store,
  runId: number,
  run: string,
  options: IterationsOptions = {},
): Promise<IterationsResult> {
  const { summary, attempts } = await summariseIterations(store, runId);
  const rows = await store.all('log.iterations', { run_id: runId, newest: options.newest ?? null });
  return {
    schema: 'mbforensics/iterations@1',
    run,
    summary,
    attempts,
    rows,
    rows_left_out: summary.count - rows.length,
  };
}

/** Iteration lines and what they amount to. */
import type { IterationSummary, IterationsResult } from '../../model/results/log.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

const NONE: IterationSummary = {
  count: 0,
  copies: 0,
  distinct: 0,
  first: null,
  last: null,
  lowest: null,
  highest: null,
  target: null,
  monotonic: null,
  timed: 0,
  median_step_ms: null,
  mean_step_ms: null,
  p95_step_ms: null,
  min_step_ms: null,
  max_step_ms: null,
  steady: {
    timed: 0,
    median_step_ms: null,
    mean_step_ms: null,
    p95_step_ms: null,
    min_step_ms: null,
    max_step_ms: null,
    left_out: 0,
    median_tflops_per_gpu: null,
    mean_tflops_per_gpu: null,
  },
  mean_step_ms_excluding_first: null,
  median_tflops_per_gpu: null,
  last_loss: null,
  skipped_iterations: null,
  nan_iterations: null,
};

/** JSON cannot hold NaN or infinity; a loss of NaN is in `nan_iterations`, and null here. */
const finite = (value: number | null): number | null => (value !== null && Number.isFinite(value) ? value : null);

function summarise(row: QueryRow<'log.iteration_summary'>): IterationSummary {
  return {
    count: row.count,
    copies: row.copies,
    distinct: row.distinct_iterations,
    first: row.first,
    last: row.last,
    lowest: row.lowest,
    highest: row.highest,
    target: row.target,
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
    last_loss: finite(row.last_loss),
    skipped_iterations: row.skipped_iterations,
    nan_iterations: row.nan_iterations,
  };
}

/** Of the whole run, and of each attempt that printed iterations. */
export async function summariseIterations(
  store: Store,
  runId: number,
): Promise<Pick<IterationsResult, 'summary' | 'attempts'>> {
  const rows = await store.all('log.iteration_summary', { run_id: runId });
  const wholeRun = rows.find((row) => row.attempt === null);
  return {
    // Without rows the grand total is still a group, of nothing.
    summary: wholeRun === undefined || wholeRun.count === 0 ? NONE : summarise(wholeRun),
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
  const rows = (await store.all('log.iterations', { run_id: runId, newest: options.newest ?? null })).map((row) => ({
    attempt: row.attempt,
    iteration: row.iteration,
    target: row.target_iterations,
    rank: row.rank,
    step_ms: finite(row.step_ms),
    tflops_per_gpu: finite(row.tflops_per_gpu),
    loss: finite(row.loss),
    learning_rate: finite(row.learning_rate),
    grad_norm: finite(row.grad_norm),
    loss_scale: finite(row.loss_scale),
    global_batch_size: row.global_batch_size,
    consumed_samples: row.consumed_samples,
    skipped_iterations: row.skipped_iterations,
    nan_iterations: row.nan_iterations,
    time_us: row.time_us,
    file: row.display_path,
    line: row.line,
  }));
  return {
    schema: 'mbforensics/iterations@1',
    run,
    summary,
    attempts,
    rows,
    rows_left_out: summary.count - rows.length,
  };
}

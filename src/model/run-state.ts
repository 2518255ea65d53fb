/** What the reader of a run's texts wants to know of it, whether it failed or not: progress, memory, pace. */
import type { LaunchEnding } from './launch-end.js';
import type { RowOf } from './results/row-of.js';

/**
 * How the judged launch ended. `running_or_cut`: iterations are printed, and no line reports a failure or the end.
 * `ended_by_launcher`: a launcher ended its processes, and no line shows why.
 */
export type RunStateName = Exclude<LaunchEnding, 'unknown'> | 'running_or_cut' | 'ended_by_launcher';

/** The fullest rank by its largest printed figure. */
export interface RunPeak extends Omit<RowOf<'measure.run_peak'>, 'of' | 'share_by'> {
  readonly of: 'reserved' | 'allocated';
  readonly share_by: 'total' | 'printed' | null;
}

export interface RunStep {
  readonly ms: number;
  /** Of the steady iterations; null where no line prints a step time and it was computed. */
  readonly from_iteration: number | null;
  readonly to_iteration: number | null;
  readonly iterations: number | null;
  /** What it was computed from; null where it is printed. */
  readonly derived_from: string | null;
  readonly tflops_per_gpu: number | null;
}

/** A figure of the memory lines that rose above all values before it. */
export type RunGrowth = RowOf<'measure.run_growth'>;

/** Out-of-memory errors after which the program went on. */
export interface CaughtOoms {
  readonly count: number;
  /** `log`: further iterations, or the end, are printed. `trace`: further training steps are recorded. */
  readonly from: 'log' | 'trace';
  /** Of the log: the last iteration printed; of the trace: null. */
  readonly to_iteration: number | null;
  /** Whole steps recorded after the last one; null of a log. */
  readonly steps_after: number | null;
  /** False: a later one ended the program or, in a trace, no whole step is recorded after the last. */
  readonly includes_last: boolean;
  /** False: an uncaught error of a program whose standard output is buffered looks the same. */
  readonly is_certain: boolean;
}

export interface RunState {
  readonly state: RunStateName;
  readonly last_iteration: number | null;
  readonly target_iteration: number | null;
  readonly peak: RunPeak | null;
  readonly step: RunStep | null;
  readonly growth: RunGrowth | null;
}

/** Other launches of the same texts that ran out of memory with the same figures. */
export interface LaunchOoms extends Pick<RowOf<'log.incidents'>, 'rank' | 'device' | 'iteration' | 'line'> {
  readonly attempts: readonly number[];
  readonly requested_bytes: number | null;
  readonly free_bytes: number | null;
  readonly total_bytes: number | null;
  /** `function at file:line`. */
  readonly frame: string | null;
  /** Of the first of them. */
  readonly file: string;
}

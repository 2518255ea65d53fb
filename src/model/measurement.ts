/**
 * What a run comes to: everything two runs are compared by, small enough to be kept in a repository. Made from a store
 * (`measureRun`) or read from a golden file; field names are those of the JSON.
 */
import type { DeviceAt } from './results/at.js';
import type { RunFacts } from './results/log.js';
import type { RowOf } from './results/row-of.js';
import type { Verdict } from './verdict.js';
import type { Component, IncidentKind } from './vocabulary.js';

/** How a run ended. `stopped`: its log ends without a failure and without a completion line. */
export const ENDINGS = ['completed', 'stopped', 'oom', 'failed', 'no_training'] as const;
export type Ending = (typeof ENDINGS)[number];

export interface MeasuredFailure extends Pick<RowOf<'log.incidents'>, 'rank' | 'iteration' | 'text' | 'file' | 'line'> {
  readonly kind: IncidentKind;
  readonly stage: number | null;
}

/** `diagnose`'s verdict on the first failure. */
export interface MeasuredVerdict extends Pick<Verdict, 'cause' | 'detail' | 'confidence'> {
  readonly summary: string;
  /** Bytes of the request that failed; null where unknown. */
  readonly requested_bytes: number | null;
  /** Live bytes when it failed. */
  readonly live_bytes: number | null;
}

export interface MeasuredStatus {
  readonly ending: Ending;
  readonly failure: MeasuredFailure | null;
  readonly verdict: MeasuredVerdict | null;
  readonly attempts: number;
  readonly first_iteration: number | null;
  readonly last_iteration: number | null;
  readonly target_iterations: number | null;
}

/**
 * Figures of one rank as its memory lines print them. The first line is printed before Adam's states coincide with a
 * full set of activations.
 */
export interface MeasuredRank extends RowOf<'measure.memory_ranks'> {
  readonly stage: number | null;
}

/** One allocating stack at the peak. */
export interface MeasuredSite {
  /** Innermost first, indices into `frames`. */
  readonly stack: readonly number[];
  /** Kind of stack group as in `StackGroup`; empty for stacks of allocations. */
  readonly kind: string;
  readonly component: Component;
  readonly bytes: number;
  readonly count: number;
}

/** The peak of one device as a memory snapshot has it. */
export interface MeasuredPeak extends Pick<DeviceAt, 'rank' | 'device' | 'basis' | 'reserved_bytes'> {
  readonly handle: string;
  /**
   * `dump`: without a trace, the dumped state is used in place of the peak. `oom`: the state at the OOM and the refused
   * request, where they are larger.
   */
  readonly moment: 'peak' | 'oom' | 'dump';
  /** With the refused request at an OOM. */
  readonly active_bytes: number;
  /** Of the refused request; null at any other moment. */
  readonly requested_bytes: number | null;
  readonly components: Readonly<Partial<Record<Component, number>>>;
  /** `[function, file, line]`. */
  readonly frames: readonly (readonly [name: string, file: string, line: number])[];
  /** The most bytes first; what was left out is in `rest_bytes`. */
  readonly sites: readonly MeasuredSite[];
  readonly rest_bytes: number;
  readonly rest_count: number;
  /** Allocator settings recorded in the snapshot. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Steady iterations: those after warm-up, of the last attempt. Times in milliseconds. */
export interface MeasuredSteps extends Omit<RowOf<'measure.steady_steps'>, 'independent'> {
  /** Absent in golden values of earlier versions. */
  readonly independent?: number | undefined;
}

/** Values by iteration that the presets judge; thinned to at most {@link MOST_POINTS}, ends kept. */
export interface MeasuredSeries {
  readonly iteration: readonly number[];
  readonly loss: readonly (number | null)[];
  readonly step_ms: readonly (number | null)[];
  readonly tflops: readonly (number | null)[];
  readonly grad_norm: readonly (number | null)[];
  /** Of the rank that writes the metrics, at each of its steps; absent without metrics that hold them. */
  readonly allocated_bytes?: readonly (number | null)[] | undefined;
  readonly max_allocated_bytes?: readonly (number | null)[] | undefined;
  readonly num_zeros?: readonly (number | null)[] | undefined;
  /** What Megatron Bridge's evaluator takes from the same log, where that is not the above; absent elsewhere. */
  readonly bridge?: MeasuredBridge | undefined;
}

/** Values by step, from 0; `nan` is also infinity. */
export interface MeasuredBridge {
  readonly steps: readonly number[];
  readonly lm_loss: readonly (number | null)[];
  readonly step_ms: readonly (number | null)[];
  readonly gpu_utilization: readonly (number | null)[];
  readonly grad_norm: readonly (number | 'nan' | null)[];
  /** Decimal GB as printed. */
  readonly alloc: number | null;
  readonly max_alloc: number | null;
  readonly max_reserved: number | null;
}
export const MOST_POINTS = 2_000;

/** Why a slow run need not be the code's fault. */
export interface Disturbance {
  readonly kind: 'straggler' | 'throttling' | 'other_process' | 'alloc_retries' | 'uneven_steps';
  readonly text: string;
}

export interface Measurement extends Pick<RunFacts, 'world_size' | 'parallel' | 'commits' | 'allocator_conf'> {
  readonly run: string;
  readonly label: string | null;
  readonly commit: string | null;
  readonly status: MeasuredStatus;
  readonly gpu: { readonly name: string | null; readonly total_bytes: number | null };
  readonly versions: Readonly<Record<string, string>>;
  readonly ranks: readonly MeasuredRank[];
  readonly peaks: readonly MeasuredPeak[];
  readonly steps: MeasuredSteps | null;
  readonly series: MeasuredSeries;
  /** Effective settings, values in plain spelling (`true`, `null`, `1`). */
  readonly config: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | null>>;
  readonly disturbances: readonly Disturbance[];
}

/** `golden export` and `import`: what is kept in a repository. */
export interface GoldenDocument {
  readonly schema: 'mbforensics/golden@1';
  readonly name: string;
  /** ISO 8601, UTC. */
  readonly written_at: string;
  /** Several runs of the same configuration show its variance. */
  readonly runs: readonly Measurement[];
}

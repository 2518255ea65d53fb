/** The input of the symptom rules: read once per run, so that a rule is a plain function. */

import type { RunEstimate } from '../../derive/estimate/estimate-run.js';
import type { RankLayout } from '../../derive/run/rank-layout.js';
import type { RawFacts } from '../../derive/settings/facts.js';
import type { View } from '../../derive/settings/view.js';
import type { Measurement } from '../../model/measurement.js';
import type { DiagnoseResult, VerdictResult } from '../../model/results/common.js';
import type { ContractEntry } from '../../model/results/compare.js';
import type { LogIncident, ParallelSizes } from '../../model/results/log.js';
import type { Text } from '../../model/statement.js';
import type { QueryRow } from '../../store/query-catalog.js';

/** A fact that may be unknown, in words, with its place. */
export interface Known<Value> {
  readonly value: Value | null;
  readonly text: Text;
  /** Empty: none. */
  readonly source: Text;
}

/** Busy time of a kind of communication, and the part of it in which nothing was computed. */
export interface Communication {
  readonly busy_ns: number;
  readonly exposed_ns: number;
}

export type KernelKind = Pick<QueryRow<'symptom.kernel_kinds'>, 'total_ns' | 'median_ns'>;

/** Kernels that could have begun while others ran, and those of them that did not. */
export type Waits = Pick<QueryRow<'symptom.waiting_kernels'>, 'met' | 'waited' | 'waited_ns'>;

/**
 * One device of one Nsight Systems export, over the steps except the first, or over the whole capture if no steps are
 * known.
 */
export interface Timeline {
  readonly path: string;
  readonly rank: number | null;
  readonly stage: number | null;
  /** 0: the window is the whole capture. */
  readonly steps: number;
  readonly window_ns: number;
  readonly compute_ns: number;
  readonly idle_ns: number;
  /**
   * Collectives of whole groups: of data parallelism, and of tensor parallelism if it does not use buffers of its own.
   */
  readonly collectives: Communication;
  readonly sends: Communication;
  readonly other: Communication;
  /** Idle for less than a millisecond, until work came that had not been launched before. */
  readonly launch_gaps: { readonly count: number; readonly ns: number };
  readonly gemm: KernelKind;
  readonly collective_kernels: KernelKind;
  readonly all_kernels_ns: number;
  /** Normalization kernels that waited until a collective ended. */
  readonly norm_waits: Waits;
  /** Kernels of tensor parallel overlap that waited until a matrix product ended. */
  readonly overlap_waits: Waits;
}

/** Median of a timer over its lines. */
export interface Timer {
  /** `forward-compute.ms`, `all-grads-sync.max_ms`. */
  readonly name: string;
  readonly rank: number | null;
  readonly ms: number;
  readonly source: Text;
}

/** An earlier run, or a golden one. */
export interface Baseline {
  readonly measured: Measurement;
  readonly view: View;
  /** The baseline is `golden`. */
  readonly contract: readonly ContractEntry[];
}

export interface SymptomEvidence {
  readonly run: string;
  readonly facts: RawFacts;
  readonly view: View;
  readonly world_size: number | null;
  readonly parallel: ParallelSizes;
  readonly layout: RankLayout | null;
  readonly device_bytes: Known<number>;
  /** Failure lines of the launch that failed first, each once. */
  readonly incidents: readonly LogIncident[];
  readonly diagnosis: DiagnoseResult;
  /** Verdicts of devices that ran out of memory. */
  readonly ooms: readonly VerdictResult[];
  /** Expandable segments, as the allocator recorded them, otherwise as the environment sets them. */
  readonly expandable: Known<boolean>;
  /** Figures of the run itself, not judged. */
  readonly own: Measurement;
  /** The place of the last iteration line; null without one. */
  readonly steps_source: Text | null;
  readonly timers: readonly Timer[];
  readonly estimate: RunEstimate;
  readonly baseline: Baseline | null;
  readonly timelines: readonly Timeline[];
}

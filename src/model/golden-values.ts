/**
 * Golden values as the upstream projects keep them. Numbers stay in the unit of their file: Megatron-LM's memory is raw
 * bytes and its times are seconds, Megatron Bridge's memory is decimal GB (10^9) and its times are milliseconds.
 * Upstream: Megatron-LM `tests/functional_tests/python_test_utils/common.py`, Megatron-Bridge
 * `scripts/performance/utils/evaluate.py`.
 */
import type { GoldenDocument } from './measurement.js';

/** The value of a step: a number, or anything else, which upstream counts as infinite (`"nan"`). */
export type StepValue = number | 'nan';

/** One metric of Megatron-LM's training schema. */
export interface StepSeries {
  readonly start_step: number;
  readonly end_step: number;
  readonly step_interval: number;
  /** By step, ascending. */
  readonly values: ReadonlyMap<number, StepValue>;
}

export interface MegatronTrainingValues {
  readonly kind: 'megatron_training';
  readonly metrics: ReadonlyMap<string, StepSeries>;
  /** The values were a list (before 2024): step = start + position × interval. */
  readonly is_legacy: boolean;
}

/** Megatron-LM's schema of inference tests; requests are counted, not kept. */
export interface MegatronInferenceValues {
  readonly kind: 'megatron_inference';
  readonly requests: number;
  /** Tokens per second, one per repetition; empty: the file has none. */
  readonly throughput: readonly number[];
  readonly mem_max_allocated_bytes: number | null;
}

export interface BridgeStep {
  /** As printed in the log; null where the file has none. */
  readonly lm_loss: StepValue | null;
  readonly step_ms: StepValue | null;
  /** `GPU utilization`, which is MODEL_TFLOP/s/GPU. */
  readonly gpu_utilization: StepValue | null;
  readonly grad_norm: StepValue | null;
}

export interface BridgeValues {
  readonly kind: 'bridge';
  /** What the steps were wrapped in: `baseline`, `current`, a date; empty: nothing. */
  readonly wrapper: string;
  /** By 0-based step, in the order of the file. */
  readonly steps: ReadonlyMap<number, BridgeStep>;
  /** Decimal GB. */
  readonly alloc: number | null;
  readonly max_alloc: number | null;
  readonly max_reserved: number | null;
  /** `job_id` and other keys that are not steps, as text. */
  readonly others: Readonly<Record<string, string>>;
}

/** A file without values: zero bytes of content, or `{}`. */
export interface NoValues {
  readonly kind: 'empty';
}

export type UpstreamValues = MegatronTrainingValues | MegatronInferenceValues | BridgeValues | NoValues;

/** What a golden file turned out to be: an upstream project's, or one of `mbforensics golden export`. */
export type GoldenFile =
  | { readonly kind: 'upstream'; readonly values: UpstreamValues }
  | { readonly kind: 'document'; readonly document: GoldenDocument };

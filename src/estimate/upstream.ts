/** What both upstream estimators return, and what they share: the schedule's factor and the SP formula's shape. */
import type { EstimateInputs } from './inputs.js';
import { fixed } from './python-numbers.js';

/** Upstream's `NUM_BYTES_IN_MEGABYTE`: what it prints as MB is MiB. */
export const PRINTED_MB = 1024 * 1024;

export interface UpstreamEstimate {
  /** Weights, gradients and optimizer state as upstream groups them. */
  readonly modelState: readonly { readonly name: string; readonly bytes: number }[];
  readonly activationBytes: number;
  readonly assumptions: readonly string[];
  /** What upstream prints to the log for this configuration, the verbose lines first. */
  readonly lines: readonly string[];
  /** Figures between, by name. */
  readonly figures: Readonly<Record<string, number>>;
}

/** `12.34 MB`. */
export function printedMb(bytes: number): string {
  return `${fixed(bytes / PRINTED_MB, 2)} MB`;
}

/**
 * How much of all layers' activations the first stage holds under its schedule, and the lines upstream prints about it.
 */
export interface ScheduleFactor {
  readonly factor: number;
  readonly lines: readonly string[];
}

/**
 * Interleaved: 1 + (p − 1) / (p·v) of a whole model's activations; otherwise as many micro-batches as there are stages,
 * or fewer if a step has fewer.
 */
export function scheduleFactor({ pp, vpp, microBatches }: EstimateInputs): ScheduleFactor {
  if (vpp !== null) {
    const penalty = 1 + (pp - 1) / (pp * vpp);
    return {
      factor: penalty,
      lines: [
        `Memory penalty from interleaved schedule: ${fixed(penalty, 2)}`,
        `Number of in-flight microbatches: ${Math.ceil(penalty * pp)}`,
      ],
    };
  }
  if (pp === 1) return { factor: 1, lines: [] };
  return {
    factor: microBatches === null ? 1 : Math.min(1, microBatches / pp),
    lines: [`Number of in-flight microbatches: ${Math.min(microBatches ?? pp, pp)}`],
  };
}

/**
 * 18 bytes a parameter (bf16 weight, fp32 gradient, fp32 master and two fp32 moments), or 6 and the other 12 sharded.
 */
export function bytesPerParameter(distributedOptimizer: boolean, shards: number): number {
  return distributedOptimizer ? 6 + 12 / shards : 18;
}

/** Whether a log line of upstream's has the formula for sequence parallelism with selective recompute. */
export function usesSequenceParallelFormula(inputs: EstimateInputs): boolean {
  return inputs.sequenceParallel && inputs.recompute === 'selective';
}

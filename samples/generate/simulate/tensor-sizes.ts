/** Bytes per token of the tensors one rank makes, in bf16 unless the name has another type. */
import type { RunPlan } from '../run.js';
import { qkvWidth } from './model-parameters.js';

export const BF16 = 2;
export const FP32 = 4;

export interface TensorSizes {
  /** The residual stream as this rank keeps it: its part of the sequence with sequence parallelism, else all of it. */
  readonly hidden: number;
  /** The residual stream over the whole sequence. */
  readonly wholeHidden: number;
  readonly qkv: number;
  /** Queries and keys after the rotary embedding. */
  readonly rotary: number;
  readonly attention: number;
  /** log-sum-exp of the attention rows, fp32. */
  readonly attentionStatistics: number;
  readonly fc1: number;
  readonly activation: number;
  readonly logits: number;
  readonly lossLogits: number;
}

export function tensorSizes({ model, parallelism }: RunPlan): TensorSizes {
  const { tensor, sequenceParallel } = parallelism;
  const { hidden, heads, queryGroups, feedForward } = model;
  const vocabulary = model.vocabulary / tensor;
  return {
    hidden: (BF16 * hidden) / (sequenceParallel ? tensor : 1),
    wholeHidden: BF16 * hidden,
    qkv: (BF16 * qkvWidth(model)) / tensor,
    rotary: (BF16 * (hidden / heads) * (heads + queryGroups)) / tensor,
    attention: (BF16 * hidden) / tensor,
    attentionStatistics: (FP32 * heads) / tensor,
    fc1: (BF16 * 2 * feedForward) / tensor,
    activation: (BF16 * feedForward) / tensor,
    logits: BF16 * vocabulary,
    lossLogits: FP32 * vocabulary,
  };
}

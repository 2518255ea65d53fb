/** Inputs of models that several tests estimate. */
import type { GivenInputs } from '../../src/estimate/input-keys.js';
import { completeInputs } from '../../src/estimate/inputs.js';
import { estimateStages, type StageEstimate, type StagesEstimate } from '../../src/estimate/stages/estimate-stages.js';

/** The public shape of Llama 3 70B. */
export const LLAMA3_70B: GivenInputs = {
  num_layers: 80,
  hidden_size: 8192,
  ffn_hidden_size: 28672,
  num_attention_heads: 64,
  num_query_groups: 8,
  kv_channels: 128,
  seq_length: 4096,
  vocab_size: 128256,
  share_embeddings_and_output_weights: false,
  swiglu: true,
  normalization: 'RMSNorm',
  add_bias_linear: false,
  mbs: 1,
  global_batch_size: 32,
  dist_opt: true,
  sequence_parallel: true,
  recompute_granularity: 'selective',
  bf16: true,
  grad_reduce_in_fp32: true,
};

/** The run of the memory guide: 32 H100, TP 4, PP 4, VPP 5, DP 2, FP8 with per-tensor current scaling. */
export const GUIDE: GivenInputs = {
  ...LLAMA3_70B,
  tp: 4,
  pp: 4,
  vpp: 5,
  world: 32,
  mixed_precision: 'bf16_with_fp8_current_scaling_mixed',
};

/** A model small enough to count by hand: s·b = 64 tokens, h = 16, 4 heads of 4, f = 64. */
export const TINY: GivenInputs = {
  num_layers: 4,
  hidden_size: 16,
  ffn_hidden_size: 64,
  num_attention_heads: 4,
  kv_channels: 4,
  seq_length: 32,
  mbs: 2,
  vocab_size: 128,
  make_vocab_size_divisible_by: 1,
  add_bias_linear: false,
  normalization: 'RMSNorm',
  bf16: true,
  grad_reduce_in_fp32: true,
};

export function stagesOf(given: GivenInputs): StagesEstimate {
  return estimateStages(completeInputs(given));
}

export function bytesOf(stage: StageEstimate, component: string, name?: string): number {
  return stage.parts
    .filter((one) => one.component === component && (name === undefined || one.name === name))
    .reduce((sum, { bytes }) => sum + bytes, 0);
}

/** What one layer keeps of one micro-batch: two depths of the tiny model on one GPU differ by exactly that. */
export function perLayer(given: GivenInputs): number {
  const [shallow, deep] = [1, 2].map((num_layers) => {
    const [stage] = stagesOf({ ...given, num_layers }).stages;
    return bytesOf(stage!, 'activation', 'saved tensors of layers');
  });
  return deep! - shallow!;
}

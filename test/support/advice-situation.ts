/** A situation to give advice on, from a configuration and the memory figures of a verdict. */

import { findInput } from '../../src/estimate/input-keys.js';
import { missingInputs } from '../../src/estimate/inputs.js';
import { readInputs } from '../../src/estimate/read-inputs.js';
import type { Situation } from '../../src/findings/advice/situation.js';
import { GIB } from '../../src/model/units.js';
import type { Component } from '../../src/model/vocabulary.js';
import { factsOfSample, type Sample } from './lint-sample.js';

export interface SituationOptions {
  readonly verdict?: Partial<Situation['verdict']>;
  readonly components?: Readonly<Partial<Record<Component, number>>>;
  readonly completedSteps?: number | null;
  readonly isMegatron?: boolean;
  /** Live bytes, request and what the process could have: the figures of the cause tests. */
  readonly liveGib?: number;
  readonly requestGib?: number;
  readonly limitGib?: number;
}

/** Llama 3 70B as published: 32 GPUs, TP4 PP4 VPP5 DP2. */
export const LLAMA_70B: Sample['config'] = {
  num_layers: 80,
  hidden_size: 8192,
  ffn_hidden_size: 28672,
  num_attention_heads: 64,
  num_query_groups: 8,
  gated_linear_unit: true,
  normalization: 'RMSNorm',
  add_bias_linear: false,
  vocab_size: 128256,
  share_embeddings_and_output_weights: false,
  seq_length: 4096,
  micro_batch_size: 1,
  global_batch_size: 32,
  world_size: 32,
  tensor_model_parallel_size: 4,
  pipeline_model_parallel_size: 4,
  virtual_pipeline_model_parallel_size: 5,
  context_parallel_size: 1,
  pipeline_dtype: 'bfloat16',
  sequence_parallel: true,
  bf16: true,
  use_distributed_optimizer: true,
  use_precision_aware_optimizer: false,
  optimizer: 'adam',
  recompute_granularity: null,
  attention_dropout: 0,
  hidden_dropout: 0,
  transformer_impl: 'transformer_engine',
  overlap_p2p_comm: true,
};

/** Qwen3-30B-A3B on eight GPUs: 128 experts over EP 8. */
export const QWEN_30B: Sample['config'] = {
  num_layers: 48,
  hidden_size: 2048,
  ffn_hidden_size: 6144,
  num_attention_heads: 32,
  num_query_groups: 4,
  kv_channels: 128,
  gated_linear_unit: true,
  normalization: 'RMSNorm',
  add_bias_linear: false,
  vocab_size: 151936,
  share_embeddings_and_output_weights: false,
  num_moe_experts: 128,
  moe_ffn_hidden_size: 768,
  moe_router_topk: 8,
  moe_grouped_gemm: true,
  seq_length: 4096,
  micro_batch_size: 1,
  global_batch_size: 8,
  world_size: 8,
  tensor_model_parallel_size: 1,
  pipeline_model_parallel_size: 1,
  context_parallel_size: 1,
  expert_model_parallel_size: 8,
  expert_tensor_parallel_size: 1,
  bf16: true,
  use_distributed_optimizer: true,
  use_precision_aware_optimizer: true,
  optimizer: 'adam',
  recompute_granularity: null,
  attention_dropout: 0,
  hidden_dropout: 0,
  transformer_impl: 'transformer_engine',
};

export function situationOf(sample: Sample, options: SituationOptions = {}): Situation {
  const facts = factsOfSample({ framework: 'megatron-bridge', gpu: 'h100-80gb', ...sample });
  const pairs = [...facts.settings].flatMap(([key, { value }]) =>
    findInput(key) === undefined ? [] : [[key, value] as const],
  );
  const { given } = readInputs(pairs);
  const missing = missingInputs(given);
  const { liveGib = 76, requestGib = 4, limitGib = 78 } = options;
  const [live, request, limit] = [liveGib * GIB, requestGib * GIB, limitGib * GIB];
  return {
    run: 'run',
    facts,
    isMegatron: options.isMegatron ?? true,
    ranOut: true,
    verdict: {
      rank: 0,
      cause: 'capacity',
      detail: null,
      confidence: 'high',
      evidence: [],
      tests: [
        {
          cause: 'capacity',
          outcome: 'holds',
          reason: 'full',
          details: { numbers: {}, names: {} },
          doubts: [],
          numbers: {
            live_bytes: live,
            request_bytes: request,
            limit_bytes: limit,
            short_bytes: live + request - limit,
          },
          capture: null,
        },
      ],
      request: { bytes: request, site: null },
      what_if: [],
      replay: null,
      accounting: [],
      steps: [],
      ...options.verdict,
    },
    components:
      options.components === undefined ? null : new Map(Object.entries(options.components) as [Component, number][]),
    given: missing.length === 0 ? given : null,
    noEstimate: missing.length === 0 ? null : `the configuration does not tell ${missing.join(', ')}.`,
    stage: 0,
    deviceBytes: 80 * GIB,
    completedSteps: options.completedSteps === undefined ? 5 : options.completedSteps,
  };
}

/**
 * What an estimate can be told, as data: one entry a key, with the kind of its value and the name Megatron gives it.
 * The short names are those of the tables that engineers exchange (`tp`, `mbs`); every other is Megatron-Core's own.
 * Anything else a user may write is found through the dictionary of configuration keys.
 */
import { canonicalConfigKey, invertedKeys } from '../knowledge/config-keys.js';

/**
 * `count`: integer from 1; `size`: integer from 0; `fraction`: number from 0 to 1; `factor`: number above 0; `flag`:
 * true or false; `words`: a list of words; `layers`: every n-th layer, or a list of 0 and 1 a layer; `layout`: chunks
 * of stages as a text or as a list of lists, kept as a text.
 */
export type InputKind = 'count' | 'size' | 'fraction' | 'factor' | 'flag' | 'word' | 'words' | 'layers' | 'layout';

export interface InputKey {
  readonly kind: InputKind;
  /** Largest number taken: of what is laid out one by one, so that a slip of the pen does not fill memory. */
  readonly most?: number;
  /** Meaning of null, where it is a choice of its own. */
  readonly none?: string;
  /** The name in Megatron's configuration, where the key has another. */
  readonly config?: string;
}

/** More layers, stages or chunks than any model has. */
const MOST_PLACES = 10_000;

export const INPUT_KEYS = {
  // model
  num_layers: { kind: 'count', most: MOST_PLACES },
  hidden_size: { kind: 'count' },
  ffn_hidden_size: { kind: 'count' },
  num_attention_heads: { kind: 'count' },
  num_query_groups: { kind: 'count' },
  group_query_attention: { kind: 'flag' },
  kv_channels: { kind: 'count' },
  seq_length: { kind: 'count' },
  vocab_size: { kind: 'count' },
  padded_vocab_size: { kind: 'count' },
  make_vocab_size_divisible_by: { kind: 'count' },
  should_pad_vocab: { kind: 'flag' },
  share_embeddings_and_output_weights: { kind: 'flag' },
  swiglu: { kind: 'flag' },
  gated_linear_unit: { kind: 'flag' },
  activation_func: { kind: 'word', none: 'none' },
  normalization: { kind: 'word' },
  add_bias_linear: { kind: 'flag' },
  add_qkv_bias: { kind: 'flag' },
  qk_layernorm: { kind: 'flag' },
  position_embedding_type: { kind: 'word' },
  rotary_percent: { kind: 'fraction' },
  apply_rope_fusion: { kind: 'flag' },
  transformer_impl: { kind: 'word' },
  spec: { kind: 'words' },
  masked_softmax_fusion: { kind: 'flag' },
  attention_softmax_in_fp32: { kind: 'flag' },
  apply_query_key_layer_scaling: { kind: 'flag' },
  create_attention_mask_in_dataloader: { kind: 'flag' },
  max_position_embeddings: { kind: 'count' },
  hidden_dropout: { kind: 'fraction' },
  attention_dropout: { kind: 'fraction' },
  attention_backend: { kind: 'word' },
  use_flash_attn: { kind: 'flag' },
  is_hybrid_model: { kind: 'flag' },
  hybrid_override_pattern: { kind: 'word' },
  // multi-latent attention
  mla: { kind: 'flag', config: 'multi_latent_attention' },
  q_lora_rank: { kind: 'count' },
  kv_lora_rank: { kind: 'count' },
  qk_head_dim: { kind: 'count' },
  qk_pos_emb_head_dim: { kind: 'size' },
  v_head_dim: { kind: 'count' },
  // mixture of experts
  num_moe_experts: { kind: 'size' },
  moe_layer_freq: { kind: 'layers' },
  moe_ffn_hidden_size: { kind: 'size' },
  moe_router_topk: { kind: 'count' },
  moe_shared_expert_intermediate_size: { kind: 'size' },
  moe_shared_expert_gate: { kind: 'flag' },
  moe_latent_size: { kind: 'count' },
  moe_grouped_gemm: { kind: 'flag' },
  moe_expert_capacity_factor: { kind: 'factor' },
  moe_pad_expert_input_to_capacity: { kind: 'flag' },
  moe_shared_expert_overlap: { kind: 'flag' },
  mtp_num_layers: { kind: 'size', most: MOST_PLACES },
  // parallel mapping
  tp: { kind: 'count', config: 'tensor_model_parallel_size' },
  pp: { kind: 'count', most: MOST_PLACES, config: 'pipeline_model_parallel_size' },
  vpp: { kind: 'count', most: MOST_PLACES, config: 'virtual_pipeline_model_parallel_size' },
  cp: { kind: 'count', config: 'context_parallel_size' },
  ep: { kind: 'count', config: 'expert_model_parallel_size' },
  etp: { kind: 'count', config: 'expert_tensor_parallel_size' },
  dp: { kind: 'count', config: 'data_parallel_size' },
  world: { kind: 'count', config: 'world_size' },
  sequence_parallel: { kind: 'flag' },
  // Megatron-LM core/model_parallel_config.py, branch dev of August 2026; before 2026 named hybrid_context_parallel.
  dynamic_context_parallel: { kind: 'flag' },
  hybrid_context_parallel: { kind: 'flag' },
  max_seqlen_per_dp_cp_rank: { kind: 'count' },
  num_layers_per_virtual_pipeline_stage: { kind: 'count' },
  num_layers_in_first_pipeline_stage: { kind: 'count' },
  num_layers_in_last_pipeline_stage: { kind: 'count' },
  account_for_embedding_in_pipeline_split: { kind: 'flag' },
  account_for_loss_in_pipeline_split: { kind: 'flag' },
  pipeline_model_parallel_layout: { kind: 'layout' },
  microbatch_group_size_per_vp_stage: { kind: 'count' },
  // batch
  mbs: { kind: 'count', config: 'micro_batch_size' },
  global_batch_size: { kind: 'count' },
  num_microbatches: { kind: 'count' },
  // recompute and offload of activations
  recompute_granularity: { kind: 'word' },
  recompute_method: { kind: 'word' },
  recompute_num_layers: { kind: 'count' },
  recompute_modules: { kind: 'words' },
  distribute_saved_activations: { kind: 'flag' },
  cpu_offloading: { kind: 'flag' },
  cpu_offloading_num_layers: { kind: 'size' },
  cpu_offloading_weights: { kind: 'flag' },
  fine_grained_activation_offloading: { kind: 'flag' },
  offload_modules: { kind: 'words' },
  activation_offload_fraction: { kind: 'fraction' },
  // precision
  bf16: { kind: 'flag' },
  fp16: { kind: 'flag' },
  params_dtype: { kind: 'word' },
  mixed_precision: { kind: 'word' },
  fp8: { kind: 'word' },
  fp8_recipe: { kind: 'word' },
  fp8_param: { kind: 'flag' },
  fp8_param_gather: { kind: 'flag' },
  grad_reduce_in_fp32: { kind: 'flag' },
  accumulate_allreduce_grads_in_fp32: { kind: 'flag' },
  cross_entropy_loss_fusion: { kind: 'flag' },
  cross_entropy_fusion_impl: { kind: 'word' },
  // optimizer and data parallelism
  optimizer: { kind: 'word' },
  use_torch_optimizer: { kind: 'flag' },
  dist_opt: { kind: 'flag', config: 'use_distributed_optimizer' },
  num_distributed_optimizer_instances: { kind: 'count' },
  use_precision_aware_optimizer: { kind: 'flag' },
  main_grads_dtype: { kind: 'word' },
  main_params_dtype: { kind: 'word' },
  exp_avg_dtype: { kind: 'word' },
  exp_avg_sq_dtype: { kind: 'word' },
  store_param_remainders: { kind: 'flag' },
  optimizer_cpu_offload: { kind: 'flag' },
  optimizer_offload_fraction: { kind: 'fraction' },
  use_megatron_fsdp: { kind: 'flag' },
  use_torch_fsdp2: { kind: 'flag' },
  data_parallel_sharding_strategy: { kind: 'word' },
  cuda_graph_impl: { kind: 'word' },
  enable_cuda_graph: { kind: 'flag' },
  nccl_ub: { kind: 'flag' },
  tp_comm_overlap: { kind: 'flag' },
  // adapters
  peft_scheme: { kind: 'word' },
  lora_rank: { kind: 'count' },
  lora_target_modules: { kind: 'words' },
} as const satisfies Readonly<Record<string, InputKey>>;

export type InputName = keyof typeof INPUT_KEYS;
export const INPUT_NAMES = Object.keys(INPUT_KEYS) as InputName[];

interface ValueOfKind {
  readonly count: number;
  readonly size: number;
  readonly fraction: number;
  readonly factor: number;
  readonly flag: boolean;
  readonly word: string;
  readonly words: readonly string[];
  readonly layers: number | readonly number[];
  readonly layout: string;
}

/** Known inputs, by key. A key that is unknown or null is absent: then upstream's default holds. */
export type GivenInputs = { readonly [Name in InputName]?: ValueOfKind[(typeof INPUT_KEYS)[Name]['kind']] };

/** An entry with all that it may have. */
export function inputKey(name: InputName): InputKey {
  return INPUT_KEYS[name];
}

/** The name of an input in Megatron's configuration. */
export function configName(name: InputName): string {
  return inputKey(name).config ?? name;
}

const BY_CONFIG = new Map(INPUT_NAMES.map((name) => [configName(name), name]));

/** Keys of Megatron's configuration that an estimate reads. */
export const CONFIG_INPUTS: ReadonlyMap<string, InputName> = BY_CONFIG;

export interface FoundInput {
  readonly name: InputName;
  /** The spelling means the opposite: `untie_embeddings_and_output_weights`. */
  readonly inverted: boolean;
}

/**
 * The input that a key of any spelling means: `tp`, `--tensor-model-parallel-size`, `model.tensor_model_parallel_size`;
 * undefined if none.
 */
export function findInput(key: string): FoundInput | undefined {
  if (Object.hasOwn(INPUT_KEYS, key)) return { name: key as InputName, inverted: false };
  const canonical = canonicalConfigKey(key);
  const opposite = Object.hasOwn(invertedKeys(), canonical) ? invertedKeys()[canonical] : undefined;
  const name = BY_CONFIG.get(opposite ?? canonical);
  return name === undefined ? undefined : { name, inverted: opposite !== undefined };
}

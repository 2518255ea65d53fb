/**
 * Which setting moves which bytes, and which way. Directions and sizes are those of the guides and of Megatron's own documentation, as collected
 * in the reference: `megatron.md` 4.2 (knobs: direction, size, cost) and `guides.md` 2 (knob index; its columns memory and speed), 1.1 and 1.3
 * (what a higher TP, PP, EP, CP and offload fraction do). Keys are canonical (`src/knowledge/config-keys.ts`); variables have their own names.
 */
import type { Component } from '../../model/vocabulary.js';

/**
 * Towards which values it goes up. A list names values from the least to the most, those in an inner list being alike; values in none of them
 * tell nothing. `list_longer` counts the entries of a list.
 */
export type Towards =
  | 'larger'
  | 'smaller'
  | 'on'
  | 'off'
  | 'list_longer'
  | 'list_shorter'
  | readonly (string | readonly string[])[];

export interface KnobEffect {
  /** What of a rank it can make grow and shrink. Empty: no live tensors. */
  readonly components: readonly Component[];
  /** Values with which memory grows; null where that depends on more than the value. */
  readonly memory: Towards | null;
  /** Of these components it is a factor: with twice the value they are twice (`linear`) or half (`inverse`) as large, about. */
  readonly factor?: { readonly kind: 'linear' | 'inverse'; readonly of: readonly Component[] };
  /** It moves what is reserved, or memory outside of torch, whatever becomes of live tensors. */
  readonly beyond?: true;
  /** Values with which a step takes longer; null: it bears on time, either way. Absent: it does not. */
  readonly time?: Towards | null;
}

const STATES: readonly Component[] = ['parameter', 'gradient', 'optimizer_state', 'before_recording'];
const FLOW: readonly Component[] = ['activation', 'recompute', 'logits_loss', 'temporary', 'workspace'];
const ALL_FLOW: readonly Component[] = [...FLOW, 'moe_dispatch', 'communication', 'input', 'fp8_buffer'];
const PROPORTIONAL: readonly Component[] = ['activation', 'recompute', 'logits_loss', 'moe_dispatch'];
const GRAPHS: readonly Component[] = ['graph_pool', 'workspace', 'temporary', 'activation'];

/** None stands for null and an empty text. */
const DTYPES: Towards = [
  ['fp8', 'float8', 'uint8', 'e4m3', 'e5m2'],
  ['bf16', 'bfloat16', 'fp16', 'float16', 'half'],
  ['fp32', 'float32', 'float'],
];

const knob = (
  components: readonly Component[],
  memory: Towards | null,
  more: Omit<KnobEffect, 'components' | 'memory'> = {},
): KnobEffect => ({ components, memory, ...more });

const CONFIG_EFFECTS: Readonly<Record<string, KnobEffect>> = {
  // ---- how it is cut
  world_size: knob([...STATES, 'communication'], 'smaller', { time: null }),
  data_parallel_size: knob([...STATES, 'communication'], 'smaller', { time: null }),
  tensor_model_parallel_size: knob([...STATES, ...ALL_FLOW], 'smaller', {
    factor: { kind: 'inverse', of: ['parameter', 'gradient', 'optimizer_state'] },
    time: null,
  }),
  // Fewer stages hold more layers each, but have as many micro-batches fewer in flight.
  pipeline_model_parallel_size: knob([...STATES, 'activation', 'recompute'], 'smaller', {
    factor: { kind: 'inverse', of: ['parameter', 'gradient', 'optimizer_state'] },
    time: null,
  }),
  virtual_pipeline_model_parallel_size: knob(['activation', 'recompute', 'communication'], 'larger', {
    time: 'smaller',
  }),
  num_layers_per_virtual_pipeline_stage: knob(['activation', 'recompute', 'communication'], 'smaller', {
    time: 'larger',
  }),
  num_layers_in_first_pipeline_stage: knob([...STATES, ...FLOW], null, { time: null }),
  num_layers_in_last_pipeline_stage: knob([...STATES, ...FLOW], null, { time: null }),
  pipeline_model_parallel_layout: knob([...STATES, ...FLOW], null, { time: null }),
  account_for_embedding_in_pipeline_split: knob([...STATES, ...FLOW], null, { time: null }),
  account_for_loss_in_pipeline_split: knob([...STATES, ...FLOW], null, { time: null }),
  context_parallel_size: knob([...ALL_FLOW, 'optimizer_state'], 'smaller', {
    factor: { kind: 'inverse', of: PROPORTIONAL },
    time: null,
  }),
  cp_comm_type: knob(['activation', 'communication', 'temporary'], [['p2p', 'a2a', 'a2a+p2p'], 'all_gather'], {
    time: null,
  }),
  expert_model_parallel_size: knob([...STATES, 'moe_dispatch', 'activation', 'communication'], 'smaller', {
    time: null,
  }),
  expert_tensor_parallel_size: knob([...STATES, 'moe_dispatch', 'activation', 'communication'], 'smaller', {
    time: 'larger',
  }),
  sequence_parallel: knob(ALL_FLOW, 'off', { time: 'off' }),
  data_parallel_sharding_strategy: knob(
    [...STATES, 'communication'],
    ['optim_grads_params', 'optim_grads', 'optim', 'no_shard'],
    { time: null },
  ),
  outer_dp_sharding_strategy: knob([...STATES, 'communication'], ['optim', 'no_shard'], { time: null }),
  use_megatron_fsdp: knob([...STATES, 'communication'], 'off', { time: null }),
  use_torch_fsdp2: knob([...STATES, 'communication'], 'off', { time: null }),
  fsdp_double_buffer: knob(['communication', 'parameter', 'gradient'], 'on', { time: 'off' }),
  num_distributed_optimizer_instances: knob(['optimizer_state', 'communication'], 'larger', { time: 'smaller' }),
  zero_stage: knob([...STATES, 'communication'], 'smaller', { time: 'larger' }),
  // ---- input
  micro_batch_size: knob(ALL_FLOW, 'larger', { factor: { kind: 'linear', of: PROPORTIONAL }, time: 'larger' }),
  global_batch_size: knob(['input'], 'larger', { time: 'larger' }),
  num_microbatches: knob(['input'], 'larger', { time: 'larger' }),
  gradient_accumulation_steps: knob(['input'], 'larger', { time: 'larger' }),
  seq_length: knob(ALL_FLOW, 'larger', { factor: { kind: 'linear', of: PROPORTIONAL }, time: 'larger' }),
  decoder_seq_length: knob(ALL_FLOW, 'larger', { time: 'larger' }),
  packed_sequence_size: knob(ALL_FLOW, 'larger', { factor: { kind: 'linear', of: PROPORTIONAL }, time: 'larger' }),
  pad_to_max_length: knob(ALL_FLOW, 'on', { time: 'on' }),
  max_position_embeddings: knob([...STATES, 'temporary', 'input', 'activation'], 'larger'),
  variable_seq_lengths: knob([...FLOW, 'communication'], null, { beyond: true, time: null }),
  // ---- model
  num_layers: knob([...STATES, ...ALL_FLOW], 'larger', {
    factor: { kind: 'linear', of: ['parameter', 'gradient', 'optimizer_state', 'activation'] },
    time: 'larger',
  }),
  hidden_size: knob([...STATES, ...ALL_FLOW], 'larger', {
    factor: { kind: 'linear', of: ['parameter', 'gradient', 'optimizer_state', 'activation'] },
    time: 'larger',
  }),
  ffn_hidden_size: knob([...STATES, ...FLOW], 'larger', { time: 'larger' }),
  num_attention_heads: knob([...STATES, ...FLOW], null, { time: null }),
  num_query_groups: knob([...STATES, ...FLOW], 'larger', { time: 'larger' }),
  kv_channels: knob([...STATES, ...FLOW], 'larger', { time: 'larger' }),
  vocab_size: knob([...STATES, 'logits_loss', 'activation', 'temporary'], 'larger', { time: 'larger' }),
  padded_vocab_size: knob([...STATES, 'logits_loss', 'activation', 'temporary'], 'larger', { time: 'larger' }),
  make_vocab_size_divisible_by: knob([...STATES, 'logits_loss', 'activation', 'temporary'], 'larger'),
  num_moe_experts: knob([...STATES, 'moe_dispatch', 'activation'], 'larger', { time: 'larger' }),
  moe_router_topk: knob(['moe_dispatch', 'activation', 'recompute', 'communication', 'temporary'], 'larger', {
    time: 'larger',
  }),
  moe_ffn_hidden_size: knob([...STATES, ...FLOW, 'moe_dispatch'], 'larger', { time: 'larger' }),
  moe_shared_expert_intermediate_size: knob([...STATES, ...FLOW], 'larger', { time: 'larger' }),
  moe_expert_capacity_factor: knob(['moe_dispatch', 'activation', 'recompute', 'communication'], 'larger', {
    time: 'larger',
  }),
  moe_pad_expert_input_to_capacity: knob(['moe_dispatch', 'activation', 'recompute'], 'on', { time: 'on' }),
  moe_token_dispatcher_type: knob(
    ['moe_dispatch', 'communication', 'activation', 'temporary'],
    ['alltoall', 'allgather'],
    { time: null },
  ),
  moe_flex_dispatcher_backend: knob(['moe_dispatch', 'communication', 'activation'], null, { time: null }),
  moe_grouped_gemm: knob(['activation', 'workspace', 'temporary'], null, { time: 'off' }),
  moe_shared_expert_overlap: knob(['activation', 'temporary'], 'on', { time: 'off' }),
  moe_permute_fusion: knob(['moe_dispatch', 'activation', 'temporary'], 'off', { time: 'off' }),
  moe_router_dtype: knob(['moe_dispatch', 'activation', 'temporary'], DTYPES),
  overlap_moe_expert_parallel_comm: knob(['activation', 'moe_dispatch', 'communication'], 'on', { time: 'off' }),
  mtp_num_layers: knob([...STATES, ...ALL_FLOW], 'larger', { time: 'larger' }),
  share_embeddings_and_output_weights: knob(STATES, 'off'),
  cross_entropy_loss_fusion: knob(['logits_loss', 'temporary', 'activation'], 'off', { time: 'off' }),
  cross_entropy_fusion_impl: knob(['logits_loss', 'temporary', 'activation'], null, { time: null }),
  fp16_lm_cross_entropy: knob(['logits_loss', 'temporary'], 'off'),
  attention_backend: knob(
    ['activation', 'workspace', 'temporary', 'recompute'],
    [
      ['flash', 'fused'],
      ['unfused', 'local'],
    ],
    {
      time: [
        ['flash', 'fused'],
        ['unfused', 'local'],
      ],
    },
  ),
  use_flash_attn: knob(['activation', 'workspace', 'temporary', 'recompute'], 'off', { time: 'off' }),
  masked_softmax_fusion: knob(['activation', 'temporary'], 'off', { time: 'off' }),
  bias_activation_fusion: knob(['activation', 'temporary'], 'off', { time: 'off' }),
  bias_dropout_fusion: knob(['activation', 'temporary'], 'off', { time: 'off' }),
  apply_rope_fusion: knob(['activation', 'temporary'], 'off', { time: 'off' }),
  transformer_impl: knob([...FLOW, 'fp8_buffer'], null, { time: null }),
  hidden_dropout: knob(['activation'], 'larger'),
  attention_dropout: knob(['activation'], 'larger'),
  fp32_residual_connection: knob(['activation', 'recompute', 'temporary'], 'on', { time: 'on' }),
  attention_softmax_in_fp32: knob(['activation', 'temporary'], 'on', { time: 'on' }),
  // ---- recompute
  recompute_granularity: knob(
    ['activation', 'recompute', 'temporary', 'logits_loss', 'moe_dispatch'],
    ['full', 'selective', 'none'],
    {
      time: ['none', 'selective', 'full'],
    },
  ),
  recompute_method: knob(['activation', 'recompute'], null, { time: null }),
  recompute_num_layers: knob(['activation', 'recompute'], 'smaller', { time: 'larger' }),
  recompute_modules: knob(['activation', 'recompute', 'temporary', 'moe_dispatch'], 'list_shorter', {
    time: 'list_longer',
  }),
  recompute_activations: knob(['activation', 'recompute'], 'off', { time: 'on' }),
  checkpoint_activations: knob(['activation', 'recompute'], 'off', { time: 'on' }),
  moe_layer_recompute: knob(['activation', 'recompute', 'moe_dispatch'], 'off', { time: 'on' }),
  distribute_saved_activations: knob(['activation', 'recompute', 'communication'], 'off', { time: 'on' }),
  // ---- states
  bf16: knob([...STATES, ...FLOW, 'communication'], 'off', { time: 'off' }),
  fp16: knob([...STATES, ...FLOW, 'communication'], 'off', { time: 'off' }),
  fp8: knob(['fp8_buffer', 'parameter', 'activation', 'workspace'], null, { time: 'off' }),
  fp8_recipe: knob(['fp8_buffer', 'parameter', 'activation', 'workspace'], null, { time: null }),
  fp8_param: knob(['parameter', 'fp8_buffer', 'communication', 'before_recording'], 'off', { time: 'off' }),
  fp8_param_gather: knob(['parameter', 'fp8_buffer', 'communication', 'before_recording'], 'off', { time: 'off' }),
  keep_fp8_transpose_cache: knob(['fp8_buffer', 'parameter'], 'on', { time: 'off' }),
  mixed_precision: knob([...STATES, ...FLOW, 'fp8_buffer'], null, { time: null }),
  params_dtype: knob([...STATES, ...FLOW, 'communication'], DTYPES, { time: DTYPES }),
  use_distributed_optimizer: knob(['optimizer_state', 'gradient', 'before_recording'], 'off', { time: 'on' }),
  optimizer: knob(['optimizer_state'], ['sgd', ['muon', 'lion'], ['adam', 'adamw']], { time: null }),
  use_precision_aware_optimizer: knob(['optimizer_state', 'gradient'], 'off'),
  main_params_dtype: knob(['optimizer_state', 'parameter', 'before_recording'], DTYPES),
  main_grads_dtype: knob(['gradient', 'optimizer_state'], DTYPES),
  exp_avg_dtype: knob(['optimizer_state'], DTYPES),
  exp_avg_sq_dtype: knob(['optimizer_state'], DTYPES),
  store_param_remainders: knob(['optimizer_state', 'before_recording'], 'off'),
  grad_reduce_in_fp32: knob(['gradient', 'communication', 'before_recording'], 'on', { time: 'on' }),
  accumulate_allreduce_grads_in_fp32: knob(['gradient', 'communication', 'before_recording'], 'on', { time: 'on' }),
  gradient_accumulation_fusion: knob(['gradient', 'temporary', 'workspace'], 'off', { time: 'off' }),
  // ---- buffers beside them
  bucket_size: knob(['communication', 'gradient', 'parameter'], 'larger', { time: null }),
  overlap_grad_reduce: knob(['communication', 'gradient'], 'on', { time: 'off' }),
  overlap_param_gather: knob(['communication', 'parameter'], 'on', { time: 'off' }),
  tp_comm_overlap: knob(['communication', 'workspace'], 'on', { time: 'off' }),
  nccl_ub: knob(['communication', 'gradient', 'parameter'], 'on', { beyond: true, time: 'off' }),
  use_nccl_ub: knob(['communication', 'gradient', 'parameter'], 'on', { beyond: true, time: 'off' }),
  deallocate_pipeline_outputs: knob(['activation', 'communication'], 'off'),
  defer_embedding_wgrad_compute: knob(['activation', 'gradient', 'logits_loss'], 'on', { time: 'off' }),
  delay_wgrad_compute: knob(['activation', 'gradient'], 'on', { time: 'off' }),
  optimizer_cpu_offload: knob(['optimizer_state', 'offload_buffer', 'parameter', 'before_recording'], 'off', {
    time: 'on',
  }),
  optimizer_offload_fraction: knob(['optimizer_state', 'offload_buffer', 'parameter', 'before_recording'], 'smaller', {
    time: 'larger',
  }),
  overlap_cpu_optimizer_d2h_h2d: knob(['offload_buffer', 'optimizer_state'], 'on', { time: 'off' }),
  cpu_offloading: knob(['activation', 'recompute', 'offload_buffer', 'parameter'], 'off', { time: 'on' }),
  cpu_offloading_num_layers: knob(['activation', 'recompute', 'offload_buffer', 'parameter'], 'smaller', {
    time: 'larger',
  }),
  cpu_offloading_activations: knob(['activation', 'offload_buffer'], 'off', { time: 'on' }),
  cpu_offloading_weights: knob(['parameter', 'offload_buffer'], 'off', { time: 'on' }),
  cpu_offloading_double_buffering: knob(['offload_buffer', 'activation'], 'on', { time: 'off' }),
  fine_grained_activation_offloading: knob(['activation', 'recompute', 'offload_buffer'], 'off', { time: 'on' }),
  offload_modules: knob(['activation', 'recompute', 'offload_buffer'], 'list_shorter', { time: 'list_longer' }),
  activation_offload_fraction: knob(['activation', 'offload_buffer'], 'smaller', { time: 'larger' }),
  enable_cuda_graph: knob(GRAPHS, 'on', { time: 'off' }),
  cuda_graph_impl: knob(GRAPHS, ['none', 'transformer_engine', 'local', 'full_iteration'], { time: null }),
  cuda_graph_modules: knob(GRAPHS, 'list_longer', { time: 'list_shorter' }),
  cuda_graph_scope: knob(GRAPHS, 'list_longer', { time: 'list_shorter' }),
  external_cuda_graph: knob(GRAPHS, 'on', { time: 'off' }),
  cuda_graph_retain_backward_graph: knob(GRAPHS, 'on'),
  cuda_graph_use_single_mempool: knob(GRAPHS, 'off'),
  cuda_graph_share_io_buffers: knob(GRAPHS, 'off'),
  empty_unused_memory_level: knob([], 'smaller', { beyond: true, time: 'larger' }),
  // Garbage that waits for the collector keeps its tensors.
  manual_gc: knob(['temporary', 'activation', 'unattributed'], 'on', { time: 'off' }),
  manual_gc_interval: knob(['temporary', 'activation', 'unattributed'], 'larger', { time: 'smaller' }),
  async_save: knob(['checkpoint', 'temporary'], 'on', { time: 'off' }),
};

const ENV_EFFECTS: Readonly<Record<string, KnobEffect>> = {
  PYTORCH_CUDA_ALLOC_CONF: knob([], null, { beyond: true, time: null }),
  PYTORCH_HIP_ALLOC_CONF: knob([], null, { beyond: true, time: null }),
  PYTORCH_ALLOC_CONF: knob([], null, { beyond: true, time: null }),
  PYTORCH_NO_CUDA_MEMORY_CACHING: knob([], 'off', { beyond: true, time: 'on' }),
  TORCH_NCCL_AVOID_RECORD_STREAMS: knob(['communication', 'activation', 'temporary', 'gradient'], 'off', {
    beyond: true,
  }),
  NCCL_NVLS_ENABLE: knob(['communication'], 'on', { beyond: true, time: 'off' }),
  NCCL_BUFFSIZE: knob(['communication'], 'larger', { beyond: true, time: null }),
  NCCL_MAX_NCHANNELS: knob(['communication'], 'larger', { beyond: true, time: null }),
  NCCL_MIN_NCHANNELS: knob(['communication'], 'larger', { beyond: true, time: null }),
  NCCL_CUMEM_ENABLE: knob(['communication'], null, { beyond: true }),
  NCCL_GRAPH_REGISTER: knob(['graph_pool', 'communication'], 'on', { beyond: true, time: 'off' }),
  NCCL_ALGO: knob(['communication'], null, { beyond: true, time: null }),
  NCCL_PROTO: knob(['communication'], null, { beyond: true, time: null }),
  NCCL_NET_GDR_LEVEL: knob([], null, { time: null }),
  NCCL_NET_GDR_C2C: knob([], null, { time: 'off' }),
  CUDA_DEVICE_MAX_CONNECTIONS: knob(['workspace'], 'larger', { beyond: true, time: null }),
  CUDA_MODULE_LOADING: knob([], ['LAZY', 'EAGER'], { beyond: true }),
  CUDA_LAUNCH_BLOCKING: knob([], null, { time: 'on' }),
  CUBLAS_WORKSPACE_CONFIG: knob(['workspace'], null, { time: null }),
  CUBLASLT_WORKSPACE_SIZE: knob(['workspace'], 'larger', { time: 'smaller' }),
  NVTE_FLASH_ATTN: knob(['activation', 'workspace', 'temporary', 'recompute'], 'off', { time: 'off' }),
  NVTE_FUSED_ATTN: knob(['activation', 'workspace', 'temporary', 'recompute'], 'off', { time: 'off' }),
  NVTE_UNFUSED_ATTN: knob(['activation', 'workspace', 'temporary', 'recompute'], 'on', { time: 'on' }),
  NVTE_CPU_OFFLOAD_V1: knob(['activation', 'offload_buffer'], null, { time: null }),
  NVTE_ALLOW_NONDETERMINISTIC_ALGO: knob(['workspace', 'temporary'], null, { time: 'off' }),
  NVTE_FWD_LAYERNORM_SM_MARGIN: knob([], null, { time: null }),
  NVTE_BWD_LAYERNORM_SM_MARGIN: knob([], null, { time: null }),
  OMP_NUM_THREADS: knob([], null, { time: 'smaller' }),
};

/** Every key there is; a test holds it against the keys that bear on memory. */
export const KNOB_EFFECTS: ReadonlyMap<string, KnobEffect> = new Map(
  Object.entries({ ...CONFIG_EFFECTS, ...ENV_EFFECTS }),
);

/** What a key does, by its last part where the whole of it is unknown (`model.recompute_granularity`). */
export function knobEffect(key: string): KnobEffect | undefined {
  return KNOB_EFFECTS.get(key) ?? KNOB_EFFECTS.get(key.split('.').at(-1)!.replaceAll('-', '_'));
}

/** Which way a change goes: `up` towards the values given, `down` away from them; `unknown` if the values do not tell. */
export type Way = 'up' | 'down' | 'unknown';

/** Values in plain spelling; null: not set. */
export function wayOf(towards: Towards | null, a: string | null, b: string | null): Way {
  if (towards === null) return 'unknown';
  const [before, after] = [position(towards, a), position(towards, b)];
  if (before === undefined || after === undefined || before === after) return 'unknown';
  return after > before ? 'up' : 'down';
}

function position(towards: Towards, value: string | null): number | undefined {
  if (towards === 'larger' || towards === 'smaller') {
    const number = numberOf(value);
    return number === undefined ? undefined : towards === 'larger' ? number : -number;
  }
  if (towards === 'on' || towards === 'off') {
    const on = isOn(value);
    return on === undefined ? undefined : Number(on === (towards === 'on'));
  }
  if (towards === 'list_longer' || towards === 'list_shorter') {
    const length = entriesOf(value);
    return towards === 'list_longer' ? length : -length;
  }
  const word = wordOf(value);
  const at = towards.findIndex((one) => (typeof one === 'string' ? [one] : one).some((each) => wordOf(each) === word));
  return at < 0 ? undefined : at;
}

const isNothing = (value: string | null): boolean => value === null || /^(?:null|none|)$/i.test(value.trim());

/** Undefined for anything that is no plain number. */
export function numberOf(value: string | null): number | undefined {
  return value !== null && /^\s*[-+]?\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?\s*$/i.test(value)
    ? Number(value.replaceAll('_', ''))
    : undefined;
}

/** A switch that is not set is off; a word such as `hybrid` is on. */
function isOn(value: string | null): boolean | undefined {
  if (isNothing(value) || /^(?:false|0|no|off)$/i.test(value!.trim())) return false;
  return true;
}

function entriesOf(value: string | null): number {
  if (isNothing(value)) return 0;
  const inner = value!.trim().replace(/^[[(]|[\])]$/g, '');
  return inner.trim() === '' ? 0 : inner.split(',').filter((entry) => entry.trim() !== '').length;
}

/** `torch.bfloat16`, `AttnBackend.flash`, `"full"` → their last word. */
function wordOf(value: string | null): string {
  if (isNothing(value)) return 'none';
  return value!
    .trim()
    .replace(/^['"]|['"]$/g, '')
    .split('.')
    .at(-1)!
    .toLowerCase();
}

/**
 * Defaults of the frameworks on top of Megatron-Core, where they have a setting of their own or another default for one of Megatron-Core's:
 * Megatron-LM's arguments (read at core 0.15 and 0.17), and the classes of Megatron Bridge (read at 0.3 and after 0.6) and NeMo (2.0).
 */
import type { Default } from './defaults.js';

/** One source, many keys. */
export function defaultsOf(
  source: string,
  values: Readonly<Record<string, string | null>>,
  only: Omit<Default, 'key' | 'value' | 'source'> = {},
): Default[] {
  return Object.entries(values).map(([key, value]) => ({ key, value, source, ...only }));
}

const ARG = 'Megatron-LM megatron/training/arguments.py';
const TRAINING = 'Megatron-LM megatron/training/config/training_config.py';
const COMMON = 'Megatron-LM megatron/training/config/common_config.py';
const RERUN = 'Megatron-LM megatron/training/config/resilience_config.py RerunStateMachineConfig';
const BRIDGE = 'Megatron Bridge src/megatron/bridge/training/config.py';
const GPTP = 'Megatron Bridge src/megatron/bridge/models/gpt_provider.py GPTModelProvider';
const STRATEGY = 'NeMo nemo/lightning/pytorch/strategies/megatron_strategy.py MegatronStrategy';

/** The arguments of Megatron-LM are generated from these classes, and Bridge's classes inherit from them. */
const TRAINERS = { frameworks: ['megatron-lm', 'megatron-bridge'] } as const;
const LM = { frameworks: ['megatron-lm'] } as const;
const MB = { frameworks: ['megatron-bridge'] } as const;
const NEMO = { frameworks: ['nemo'] } as const;

/** Set by an argument whose default holds only with interleaved pipeline parallelism: `validate_args` takes it back without. */
const interleaved: Default['when'] = (view) => Number(view.setting('virtual_pipeline_model_parallel_size').value) > 1;

const SHARED: readonly Default[] = [
  ...defaultsOf(
    `${TRAINING} TrainingConfig`,
    {
      rampup_batch_size: null,
      empty_unused_memory_level: '0',
      manual_gc: 'False',
      manual_gc_interval: '0',
      exit_interval: null,
      check_weight_hash_across_dp_replicas_interval: null,
    },
    TRAINERS,
  ),
  ...defaultsOf(
    `${TRAINING} LoggerConfig`,
    {
      log_interval: '100',
      log_throughput: 'False',
      log_memory_interval: null,
      log_memory_to_tensorboard: 'False',
      log_device_memory_used: 'False',
      timing_log_level: '0',
      memory_keys: null,
    },
    TRAINERS,
  ),
  ...defaultsOf(
    `${TRAINING} CheckpointConfig`,
    {
      save: null,
      load: null,
      save_interval: null,
      pretrained_checkpoint: null,
      ckpt_format: 'torch_dist',
      async_save: 'False',
      ckpt_fully_parallel_save: 'True',
      ckpt_fully_parallel_load: 'False',
    },
    TRAINERS,
  ),
  ...defaultsOf(`${TRAINING} ValidationConfig`, { eval_iters: '100' }, TRAINERS),
  ...defaultsOf(
    `${COMMON} ProfilingConfig`,
    {
      use_nsys_profiler: 'False',
      use_pytorch_profiler: 'False',
      profile: 'False',
      profile_step_start: '10',
      profile_step_end: '12',
      record_memory_history: 'False',
    },
    TRAINERS,
  ),
  ...defaultsOf(
    `${COMMON} DistributedInitConfig`,
    {
      distributed_backend: 'nccl',
      distributed_timeout_minutes: '10',
      align_grad_reduce: 'True',
      use_tp_pp_dp_mapping: 'False',
      enable_gloo_process_groups: 'True',
      use_sharp: 'False',
    },
    TRAINERS,
  ),
  ...defaultsOf(`${COMMON} DistributedInitConfig`, { use_torch_fsdp2: 'False' }),
  ...defaultsOf(RERUN, { check_for_nan_in_loss_and_grad: 'True' }, TRAINERS),
  // Megatron-LM's argument is the opposite, --untie-embeddings-and-output-weights.
  ...defaultsOf(
    `${ARG} _add_network_size_args; ${GPTP}`,
    {
      share_embeddings_and_output_weights: 'True',
      position_embedding_type: 'learned_absolute',
      tp_comm_overlap_cfg: null,
    },
    TRAINERS,
  ),
];

const MEGATRON_LM: readonly Default[] = [
  // Nobody else has such an argument, so that nobody sets it.
  ...defaultsOf(ARG, { num_layers_per_virtual_pipeline_stage: null, num_virtual_stages_per_pipeline_rank: null }),
  ...defaultsOf(
    ARG,
    {
      recompute_activations: 'False',
      use_flash_attn: 'False',
      accumulate_allreduce_grads_in_fp32: 'False',
      grad_reduce_in_bf16: 'False',
      fp16_lm_cross_entropy: 'False',
      num_workers: '2',
      inference_dynamic_batching_unified_memory_level: '0',
      // Flags that switch off what Megatron-Core leaves off.
      gradient_accumulation_fusion: 'True',
      masked_softmax_fusion: 'True',
      bias_activation_fusion: 'True',
      bias_dropout_fusion: 'True',
      persist_layer_norm: 'True',
      attention_softmax_in_fp32: 'False',
      // Megatron-Core's fraction is 0.0: there the switch alone moves nothing.
      optimizer_offload_fraction: '1.0',
    },
    LM,
  ),
  ...defaultsOf(
    `${ARG} --no-rope-fusion, validate_args`,
    { apply_rope_fusion: 'True' },
    {
      ...LM,
      when: (view) => view.setting('position_embedding_type').value === 'rope',
    },
  ),
  ...defaultsOf(
    `${ARG} _add_distributed_args, validate_args`,
    { overlap_p2p_comm: 'True', align_param_gather: 'True' },
    {
      ...LM,
      when: interleaved,
    },
  ),
  ...defaultsOf(`${ARG} core_transformer_config_from_args`, { deallocate_pipeline_outputs: 'True' }, LM),
  ...defaultsOf(
    `${ARG} core_transformer_config_from_args`,
    { batch_p2p_comm: 'False' },
    {
      ...LM,
      when: (view) => view.setting('overlap_p2p_comm').value === 'True',
    },
  ),
  ...defaultsOf(
    'Megatron-LM megatron/training/training.py get_model',
    { check_for_nan_in_grad: 'True' },
    {
      ...LM,
      when: (view) => view.setting('check_for_nan_in_loss_and_grad').value === 'True',
    },
  ),
  // Pull request 3691, of core_v0.18.0; the class keeps no_shard.
  ...defaultsOf(
    `${ARG} _add_distributed_args`,
    { data_parallel_sharding_strategy: 'optim_grads_params' },
    {
      ...LM,
      versions: { package: 'megatron_core', from: '0.18' },
    },
  ),
  ...defaultsOf(
    `${ARG} _add_training_args`,
    { profile_ranks: '[0]' },
    {
      ...LM,
      versions: { package: 'megatron_core', before: '0.16' },
    },
  ),
  ...defaultsOf(
    `${COMMON} ProfilingConfig`,
    { profile_ranks: '[]' },
    {
      ...LM,
      versions: { package: 'megatron_core', from: '0.17' },
    },
  ),
  ...defaultsOf(`${COMMON} ProfilingConfig`, { memory_snapshot_path: 'snapshot.pickle' }, LM),
];

const MEGATRON_BRIDGE: readonly Default[] = [
  ...defaultsOf(
    GPTP,
    {
      masked_softmax_fusion: 'True',
      cross_entropy_loss_fusion: 'True',
      attention_softmax_in_fp32: 'False',
      deallocate_pipeline_outputs: 'True',
    },
    { ...MB, printed: true },
  ),
  ...defaultsOf(GPTP, { fp16_lm_cross_entropy: 'False', should_pad_vocab: 'False' }, MB),
  // gradient_accumulation_fusion is on where the extensions for it are installed, so that nothing is known of it.
  ...defaultsOf(
    `${BRIDGE} ProfilingConfig`,
    { profile_ranks: '[]', memory_snapshot_path: 'snapshot.pickle' },
    {
      ...MB,
      versions: { package: 'megatron_bridge', before: '0.4' },
    },
  ),
  ...defaultsOf(
    `${BRIDGE} ProfilingConfig`,
    { profile_ranks: '[0]', memory_snapshot_path: '/nemo_run/snapshot.pickle' },
    {
      ...MB,
      versions: { package: 'megatron_bridge', from: '0.6' },
    },
  ),
  ...defaultsOf(
    `${BRIDGE} ValidationConfig, ConfigContainer`,
    {
      eval_interval: null,
      mixed_precision: null,
      comm_overlap: null,
      peft: null,
    },
    MB,
  ),
  ...defaultsOf(
    `${BRIDGE} datasets for fine-tuning, ConfigContainer.validate`,
    {
      packed_sequence_size: null,
      packed_sequence: 'False',
      enable_offline_packing: 'False',
      enable_in_batch_packing: 'False',
      pad_cu_seqlens: 'False',
      pad_to_max_length: 'False',
    },
    MB,
  ),
];

const ADAPTERS: readonly Default[] = defaultsOf('Megatron Bridge src/megatron/bridge/peft/lora.py LoRA', {
  sequence_parallel_input_regather: 'False',
});

/** NeMo hands Megatron-Core's own classes through; of its strategy only what differs. */
const NEMO_TWO: readonly Default[] = [
  ...defaultsOf(`${STRATEGY} ddp="megatron"`, { check_for_nan_in_grad: 'True' }, NEMO),
  ...defaultsOf(STRATEGY, { encoder_tensor_model_parallel_size: '0', encoder_pipeline_model_parallel_size: '0' }, NEMO),
  ...defaultsOf(`${STRATEGY} save_ckpt_format`, { ckpt_format: 'torch_dist' }, NEMO),
];

/**
 * What describes a model. The classes of Bridge and NeMo that stand for one set it each in their own way (a Llama has no dropout and no bias), so
 * that where they are in use the default of Megatron-Core says nothing.
 */
export const KEYS_OF_MODELS: ReadonlySet<string> = new Set([
  'hidden_dropout',
  'attention_dropout',
  'add_bias_linear',
  'add_qkv_bias',
  'gated_linear_unit',
  'normalization',
  'qk_layernorm',
  'window_size',
  'position_embedding_type',
  'share_embeddings_and_output_weights',
  'bias_activation_fusion',
  'bias_dropout_fusion',
  'persist_layer_norm',
  'apply_rope_fusion',
  'multi_latent_attention',
  'mtp_num_layers',
  'is_hybrid_model',
  'num_moe_experts',
  'moe_layer_freq',
  'moe_ffn_hidden_size',
  'moe_shared_expert_intermediate_size',
  'moe_router_topk',
  'moe_router_dtype',
  'moe_router_load_balancing_type',
  'moe_router_score_function',
  'moe_router_pre_softmax',
  'moe_aux_loss_coeff',
  'moe_grouped_gemm',
  'moe_token_dispatcher_type',
  'moe_permute_fusion',
]);

export const FRAMEWORK_DEFAULTS: readonly Default[] = [
  ...SHARED,
  ...MEGATRON_LM,
  ...MEGATRON_BRIDGE,
  ...ADAPTERS,
  ...NEMO_TWO,
];

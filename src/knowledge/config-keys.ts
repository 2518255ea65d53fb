/**
 * One name for one setting, however Megatron-LM, Megatron Bridge, NeMo, DeepSpeed, Hugging Face or torchtitan spell it. Canonical names
 * are Megatron-Core's dataclass fields in snake case (`ModelParallelConfig`, `TransformerConfig`, `DistributedDataParallelConfig`,
 * `OptimizerConfig`), else Megatron-LM's argument (`megatron/training/arguments.py`); the dictionary lists what else they are called.
 */
import { literalText, readLiteral } from '../model/literal.js';
import type { ConfigFinding, ConfigOrigin } from '../model/log-rows.js';

export interface ConfigKey {
  readonly key: string;
  /**
   * Other spellings in snake case: the last part of a path, or a path with dots where the last part alone would be ambiguous
   * (matched against the end of the path). `^name` counts only where there is no path: a flag, a line of a dump.
   */
  readonly aliases: readonly string[];
  /** Holds a list, so that a single value is written as a list of one. */
  readonly isList?: true;
}

const key = (name: string, ...aliases: string[]): ConfigKey => ({ key: name, aliases });
const list = (name: string, ...aliases: string[]): ConfigKey => ({ key: name, aliases, isList: true });

/** Grouped as an engineer would look for them. */
export const CONFIG_KEYS: readonly ConfigKey[] = [
  // ---- size of the job
  key('world_size', 'dist.world_size', 'distributed_world_size'),
  key('data_parallel_size', 'dp_size', '^dp', 'data_parallel_degree'),
  key('nnodes', 'num_nodes', 'trainer.num_nodes', '^nodes', '^num_machines', 'slurm.nodes'),
  key('nproc_per_node', 'trainer.devices', 'num_gpus_per_node', 'devices_per_node', '^num_gpus', '^num_devices'),
  key('gpus_per_node', 'slurm.gpus_per_node', 'slurm.gres'),
  key('ntasks_per_node', 'slurm.ntasks_per_node', 'slurm.tasks_per_node'),
  key('ntasks', 'slurm.ntasks'),
  key('gpus_per_task', 'slurm.gpus_per_task'),
  key('cpus_per_task', 'slurm.cpus_per_task'),
  key('host_memory_limit', 'slurm.mem'),
  key('time_limit', 'slurm.time'),
  // ---- parallel mapping
  key(
    'tensor_model_parallel_size',
    'tensor_parallel_size',
    'tp_size',
    '^tp',
    '^model_parallel_size',
    'model.model_parallel_size',
    'tensor_parallel_degree',
    'tensor_parallel.tp_size',
    'tensor_parallel.autotp_size',
  ),
  key(
    'pipeline_model_parallel_size',
    'pipeline_parallel_size',
    'pp_size',
    '^pp',
    'pipe_parallel_size',
    'pipeline_parallel_degree',
  ),
  key(
    'virtual_pipeline_model_parallel_size',
    'virtual_pipeline_parallel_size',
    'vpp_size',
    '^vp',
    '^vpp',
    'interleaved_pipeline_size',
  ),
  key('num_layers_per_virtual_pipeline_stage'),
  key('num_virtual_stages_per_pipeline_rank'),
  key('microbatch_group_size_per_vp_stage', 'microbatch_group_size_per_virtual_pipeline_stage'),
  key('pipeline_model_parallel_layout'),
  key('pipeline_model_parallel_split_rank'),
  key('num_layers_in_first_pipeline_stage', 'decoder_first_pipeline_num_layers'),
  key('num_layers_in_last_pipeline_stage', 'decoder_last_pipeline_num_layers'),
  key('account_for_embedding_in_pipeline_split'),
  key('account_for_loss_in_pipeline_split'),
  key('pipeline_dtype'),
  key('context_parallel_size', 'cp_size', '^cp', 'context_parallel_degree'),
  list('cp_comm_type', 'context_parallel_comm_type'),
  list('hierarchical_context_parallel_sizes'),
  key(
    'expert_model_parallel_size',
    'expert_parallel_size',
    'moe_expert_parallel_size',
    'ep_size',
    '^ep',
    'expert_parallel_degree',
  ),
  key('expert_tensor_parallel_size', 'expert_tensor_parallel_degree', 'etp_size', '^etp', '^et'),
  key('sequence_parallel'),
  key('ulysses_sequence_parallel_size', 'ds_sequence_parallel_size'),
  key('encoder_tensor_model_parallel_size'),
  key('encoder_pipeline_model_parallel_size'),
  key('use_tp_pp_dp_mapping'),
  key('distribute_saved_activations', 'distribute_checkpointed_activations'),
  key('hybrid_context_parallel'),
  key('distributed_backend', 'dist_backend'),
  key('distributed_timeout_minutes'),
  // ---- batch and sequence
  key(
    'micro_batch_size',
    '^batch_size',
    '^mbs',
    '^mb',
    'train_micro_batch_size_per_gpu',
    'per_device_train_batch_size',
    'local_batch_size',
  ),
  key('global_batch_size', '^gbs', '^gb', 'train_batch_size'),
  list('rampup_batch_size'),
  key('gradient_accumulation_steps', '^gas', 'grad_acc_steps', 'accumulate_grad_batches'),
  key('num_microbatches'),
  key(
    'seq_length',
    'sequence_length',
    'encoder_seq_length',
    'seq_len',
    'max_seq_length',
    'max_seq_len',
    'max_sequence_length',
  ),
  key('decoder_seq_length'),
  key('max_position_embeddings', 'n_positions'),
  key('train_iters', 'train_iterations', 'trainer.max_steps', 'training.steps', '^max_steps'),
  key('train_samples'),
  key('eval_iters'),
  key('eval_interval', 'trainer.val_check_interval'),
  key('exit_interval'),
  key('packed_sequence_size', 'packed_sequence_specs.packed_sequence_size'),
  key('packed_sequence', 'sequence_packing', 'enable_sequence_packing', 'pack_sequences_in_batch'),
  key('pad_cu_seqlens'),
  key('pad_to_max_length'),
  key('calculate_per_token_loss'),
  key('variable_seq_lengths'),
  // ---- model
  key('num_layers', 'num_hidden_layers', 'n_layer', 'n_layers', 'encoder_num_layers'),
  key('hidden_size', 'n_embd', 'd_model'),
  key('ffn_hidden_size', 'intermediate_size', 'n_inner'),
  key('num_attention_heads', 'n_head', 'n_heads'),
  key('num_query_groups', 'num_key_value_heads', 'n_kv_heads'),
  key('group_query_attention'),
  key('kv_channels', 'head_dim'),
  key('vocab_size'),
  key('padded_vocab_size'),
  key('make_vocab_size_divisible_by'),
  key('should_pad_vocab'),
  key('share_embeddings_and_output_weights', 'tie_word_embeddings', 'tie_embeddings', 'share_embeddings'),
  key('gated_linear_unit', 'swiglu'),
  key('squared_relu'),
  key('activation_func', 'activation', 'hidden_act', 'activation_function'),
  key('normalization'),
  key('layernorm_epsilon', 'norm_epsilon', 'rms_norm_eps', 'layer_norm_epsilon', 'layer_norm_eps'),
  key('add_bias_linear', 'model.bias'),
  key('add_qkv_bias'),
  key('qk_layernorm'),
  key('attention_dropout', 'attn_pdrop'),
  key('hidden_dropout', 'resid_pdrop'),
  key('position_embedding_type'),
  key('rotary_base', 'rope_theta', 'rotary_emb_base'),
  key('rotary_percent', 'rotary_percentage'),
  key('window_size', 'sliding_window'),
  key('init_method_std', 'initializer_range'),
  key('multi_latent_attention'),
  key('q_lora_rank'),
  key('kv_lora_rank'),
  key('qk_head_dim', 'qk_nope_head_dim'),
  key('qk_pos_emb_head_dim', 'qk_rope_head_dim'),
  key('v_head_dim'),
  key('mtp_num_layers', 'num_nextn_predict_layers'),
  key('enable_mhc', 'enable_hyper_connections'),
  key('hybrid_override_pattern', 'hybrid_layer_pattern'),
  key('hybrid_attention_ratio'),
  key('mamba_state_dim', 'ssm_state_size'),
  key('is_hybrid_model'),
  key('model_type', 'model.model_type'),
  key('transformer_impl'),
  key('attention_backend', 'attn_implementation', '_attn_implementation'),
  key('use_flash_attn', 'use_flash_attention', 'use_flash_attn_v2'),
  key('flash_decode'),
  // ---- mixture of experts
  key('num_moe_experts', 'num_experts', 'n_routed_experts', 'num_local_experts'),
  key('moe_ffn_hidden_size', 'moe_intermediate_size'),
  key('moe_shared_expert_intermediate_size', 'shared_expert_intermediate_size'),
  key('moe_router_topk', 'num_experts_per_tok', 'moe_topk'),
  list('moe_layer_freq'),
  key('moe_first_k_dense', 'first_k_dense_replace'),
  key('moe_grouped_gemm'),
  key('moe_token_dispatcher_type'),
  key('moe_flex_dispatcher_backend'),
  key('moe_enable_deepep'),
  key('moe_expert_capacity_factor', 'moe_capacity_factor'),
  key('moe_expert_rank_capacity_factor'),
  key('moe_pad_expert_input_to_capacity'),
  key('moe_paged_stash'),
  key('moe_shared_expert_overlap'),
  key('moe_permute_fusion'),
  key('moe_router_fusion'),
  key('moe_router_dtype'),
  list('moe_router_load_balancing_type'),
  list('moe_aux_loss_coeff', 'router_aux_loss_coef'),
  key('moe_input_jitter_eps'),
  key('moe_latent_size'),
  key('moe_extended_tp'),
  key('moe_use_legacy_grouped_gemm'),
  key('moe_router_force_load_balancing'),
  key('overlap_moe_expert_parallel_comm'),
  key('delay_wgrad_compute'),
  // ---- activations: recompute and offload
  key(
    'recompute_granularity',
    // The guides spell it so; no release does.
    'recompute_granuality',
    'activations_checkpoint_granularity',
    'activation_checkpoint.mode',
  ),
  key('recompute_method', 'activations_checkpoint_method'),
  key('recompute_num_layers', 'activations_checkpoint_num_layers', '^checkpoint_num_layers'),
  list('recompute_modules'),
  key('recompute_activations'),
  key('checkpoint_activations', 'gradient_checkpointing'),
  key('moe_layer_recompute'),
  key('cpu_offloading'),
  key('cpu_offloading_num_layers'),
  key('cpu_offloading_activations'),
  key('cpu_offloading_weights'),
  key('cpu_offloading_double_buffering'),
  key('fine_grained_activation_offloading'),
  list('offload_modules'),
  key('min_offloaded_tensor_size'),
  key('activation_offload_fraction'),
  key('delta_offload_bytes_across_pp_ranks'),
  key('max_inflight_offloads', 'fine_grained_offloading_max_inflight_offloads'),
  key('activation_checkpointing.partition_activations'),
  key('activation_checkpointing.cpu_checkpointing'),
  key('activation_checkpointing.contiguous_memory_optimization'),
  // ---- CUDA graphs
  key('cuda_graph_impl'),
  list('cuda_graph_modules', 'cuda_graph_scope'),
  key('enable_cuda_graph'),
  key('external_cuda_graph'),
  key('cuda_graph_warmup_steps'),
  key('cuda_graph_retain_backward_graph'),
  key('cuda_graph_use_single_mempool'),
  key('cuda_graph_share_io_buffers'),
  key('use_te_rng_tracker', 'te_rng_tracker'),
  // ---- precision
  key('bf16', 'bf16.enabled', 'bf16_enabled', 'bfloat16_enabled', 'bfloat16.enabled'),
  key('fp16', 'fp16.enabled', 'fp16_enabled'),
  key('fp8', 'fp8_format'),
  key('fp4', 'fp4_format'),
  key('fp8_recipe'),
  key('fp8_margin'),
  key('fp8_param', 'fp8_params'),
  key('fp8_param_gather'),
  key('fp8_amax_history_len'),
  key('fp8_amax_compute_algo', 'fp8_amax_algo'),
  key('fp8_wgrad'),
  key('fp8_dot_product_attention', 'fp8_dpa'),
  key('first_last_layers_bf16'),
  key('num_layers_at_start_in_bf16'),
  key('num_layers_at_end_in_bf16'),
  key('reuse_grad_buf_for_mxfp8_param_ag'),
  key('params_dtype', 'torch_dtype'),
  key('autocast_dtype'),
  key('precision', 'trainer.precision'),
  key('mixed_precision'),
  key('fp16_lm_cross_entropy'),
  key('attention_softmax_in_fp32'),
  key('apply_query_key_layer_scaling'),
  key('fp32_residual_connection'),
  key('accumulate_allreduce_grads_in_fp32', 'fp32_allreduce'),
  key('loss_scale'),
  key('initial_loss_scale'),
  // ---- optimizer
  key('optimizer', 'optimizer.optimizer', 'optim.name', 'optimizer.type', 'optimizer_name'),
  key('lr', 'learning_rate', 'optimizer.lr', 'optim.lr', 'optimizer.params.lr'),
  key('min_lr'),
  key('weight_decay', 'optimizer.params.weight_decay'),
  key('clip_grad', 'gradient_clipping', 'gradient_clip_val', 'max_grad_norm', 'max_norm'),
  key('adam_beta1'),
  key('adam_beta2'),
  key('adam_eps', 'adam_epsilon'),
  key('lr_warmup_iters', 'warmup_steps'),
  key('lr_warmup_fraction', 'warmup_ratio'),
  key('lr_decay_iters'),
  key('lr_decay_style', 'lr_scheduler_type'),
  key('use_distributed_optimizer'),
  key('use_precision_aware_optimizer'),
  key('main_grads_dtype'),
  key('main_params_dtype'),
  key('exp_avg_dtype'),
  key('exp_avg_sq_dtype'),
  key('store_param_remainders'),
  key('optimizer_cpu_offload', 'cpu_optimizer', 'optim.optimizer_cpu_offload'),
  key('optimizer_offload_fraction'),
  key('overlap_cpu_optimizer_d2h_h2d'),
  key('use_torch_optimizer_for_cpu_offload'),
  key('offload_optimizer_states'),
  key('pin_cpu_grads'),
  key('pin_cpu_params'),
  key('decoupled_weight_decay'),
  key('overlap_param_gather_with_optimizer_step'),
  key('optimizer_skip_megatron_wrapping', 'skip_megatron_wrapping'),
  key('gradient_accumulation_fusion'),
  // ---- data parallel, FSDP, ZeRO
  key('overlap_grad_reduce', 'overlap_grad_sync'),
  key('overlap_param_gather', 'overlap_param_sync'),
  key('align_param_gather'),
  key('align_grad_reduce'),
  key('grad_reduce_in_fp32'),
  key('average_in_collective', 'ddp_average_in_collective'),
  key('bucket_size', 'ddp_bucket_size', 'bucket_cap_mb'),
  key('num_distributed_optimizer_instances'),
  key('check_for_nan_in_grad'),
  key('check_for_nan_in_loss_and_grad', 'check_for_nan_in_loss'),
  key('check_for_large_grads'),
  key('pad_buckets_for_high_nccl_busbw', 'ddp_pad_buckets_for_high_nccl_busbw'),
  key('use_megatron_fsdp', 'use_custom_fsdp'),
  key('use_torch_fsdp2'),
  key('megatron_fsdp_version'),
  key('data_parallel_sharding_strategy'),
  key('outer_dp_sharding_strategy'),
  key('fsdp_double_buffer'),
  key('fsdp_manual_registration'),
  key('suggested_communication_unit_size'),
  key('nccl_ub', 'use_nccl_ub'),
  key('use_sharp'),
  key('init_model_with_meta_device'),
  key('preserve_fp32_weights'),
  key('keep_fp8_transpose_cache', 'keep_fp8_transpose_cache_when_using_custom_fsdp'),
  key('data_parallel_shard_degree'),
  key('data_parallel_replicate_degree'),
  key('strategy.fsdp'),
  key('zero_stage', 'zero_optimization.stage', 'zero_config.stage', 'zero_optimization_stage'),
  key('zero_offload_optimizer_device', 'offload_optimizer.device'),
  key('zero_offload_param_device', 'offload_param.device'),
  key('zero_reduce_bucket_size', 'zero_optimization.reduce_bucket_size', 'zero_config.reduce_bucket_size'),
  key('zero_allgather_bucket_size', 'zero_optimization.allgather_bucket_size', 'zero_config.allgather_bucket_size'),
  key('zero_overlap_comm', 'zero_optimization.overlap_comm', 'zero_config.overlap_comm'),
  key(
    'zero_contiguous_gradients',
    'zero_contigious_gradients',
    'zero_optimization.contiguous_gradients',
    'zero_config.contiguous_gradients',
  ),
  key('stage3_prefetch_bucket_size', 'prefetch_bucket_size'),
  key('stage3_param_persistence_threshold', 'param_persistence_threshold'),
  key('stage3_max_live_parameters', 'max_live_parameters'),
  key('stage3_max_reuse_distance', 'max_reuse_distance'),
  key('sub_group_size'),
  key('deepspeed_config'),
  // ---- communication overlap
  key('tp_comm_overlap', 'ub_tp_comm_overlap'),
  key('tp_comm_overlap_cfg', 'ub_tp_comm_overlap_cfg'),
  key('tp_comm_overlap_ag'),
  key('tp_comm_overlap_rs'),
  key('tp_comm_overlap_rs_dgrad'),
  key('tp_comm_split_ag'),
  key('tp_comm_split_rs'),
  key('tp_comm_bulk_dgrad'),
  key('tp_comm_bulk_wgrad'),
  key('tp_comm_bootstrap_backend'),
  key('cga_size'),
  key('num_sm'),
  key('overlap_p2p_comm'),
  key('overlap_p2p_comm_warmup_flush', 'overlap_p2p_communication_warmup_flush'),
  key('batch_p2p_comm'),
  key('defer_embedding_wgrad_compute'),
  key('wgrad_deferral_limit'),
  key('deallocate_pipeline_outputs'),
  key('async_tensor_model_parallel_allreduce'),
  key('scatter_gather_tensors_in_pipeline'),
  // ---- fusion
  key('masked_softmax_fusion', 'scaled_masked_softmax_fusion'),
  key('cross_entropy_loss_fusion'),
  key('cross_entropy_fusion_impl'),
  key('bias_activation_fusion', 'bias_gelu_fusion', 'bias_swiglu_fusion'),
  key('bias_dropout_fusion'),
  key('apply_rope_fusion', 'rope_fusion'),
  key('persist_layer_norm'),
  key('memory_efficient_layer_norm'),
  key('torch_compile', 'compile.enable', 'training.compile'),
  // ---- checkpoints
  key('save'),
  key('load'),
  key('save_interval', 'checkpoint.interval'),
  key('pretrained_checkpoint', 'resume_from_checkpoint'),
  key('ckpt_format', 'dist_ckpt_format'),
  key('async_save', 'checkpoint.async_mode'),
  key('ckpt_fully_parallel_save', 'fully_parallel_save'),
  key('ckpt_fully_parallel_load', 'fully_parallel_load'),
  // ---- adapters
  key('peft_scheme', 'peft.peft_scheme', 'peft_type'),
  key('lora_rank', 'peft.dim', 'lora_tuning.adapter_dim', 'peft.lora_tuning.adapter_dim', 'lora_r'),
  key('lora_alpha', 'peft.alpha', 'lora_tuning.alpha'),
  list('lora_target_modules', 'peft.target_modules', 'lora_tuning.target_modules'),
  key('sequence_parallel_input_regather'),
  // ---- measurement
  key('log_interval', 'logging_steps', 'trainer.log_every_n_steps'),
  key('log_throughput'),
  key('log_memory_interval'),
  key('log_memory_to_tensorboard'),
  key('log_device_memory_used'),
  key('timing_log_level'),
  key('use_pytorch_profiler'),
  key('use_nsys_profiler'),
  key('profile'),
  key('profile_step_start'),
  key('profile_step_end'),
  list('profile_ranks'),
  key('record_memory_history'),
  key('memory_snapshot_path'),
  key('memory_keys'),
  // ---- the rest
  key('empty_unused_memory_level', 'empty_cache_steps'),
  key('manual_gc'),
  key('manual_gc_interval', 'gc_interval', 'gc_interval_train', 'gc_freq'),
  key('num_workers', 'dataloader_num_workers'),
  key('seed', 'random_seed'),
  key('deterministic_mode'),
  key('use_cpu_initialization'),
  key('enable_gloo_process_groups', 'use_gloo_process_groups'),
  key('enable_one_logger'),
  key('gpu_memory_utilization'),
  key('rl_offload_optimizer_during_inference'),
  key('inference_dynamic_batching_buffer_size_gb', 'buffer_size_gb'),
];

/**
 * Megatron-LM flags that switch something off, with the argument they write (argparse `store_false` and its `dest`;
 * `megatron/training/arguments.py`, 2021 to 2026). Other flags that begin with `no_` are arguments of that very name.
 */
export const NEGATED_FLAGS: Readonly<Record<string, string>> = {
  no_masked_softmax_fusion: 'masked_softmax_fusion',
  no_scaled_masked_softmax_fusion: 'masked_softmax_fusion',
  no_bias_gelu_fusion: 'bias_gelu_fusion',
  no_bias_swiglu_fusion: 'bias_swiglu_fusion',
  no_bias_dropout_fusion: 'bias_dropout_fusion',
  no_rope_fusion: 'apply_rope_fusion',
  no_cross_entropy_loss_fusion: 'cross_entropy_loss_fusion',
  no_gradient_accumulation_fusion: 'gradient_accumulation_fusion',
  no_async_tensor_model_parallel_allreduce: 'async_tensor_model_parallel_allreduce',
  no_overlap_p2p_communication: 'overlap_p2p_comm',
  no_scatter_gather_tensors_in_pipeline: 'scatter_gather_tensors_in_pipeline',
  no_contiguous_buffers_in_local_ddp: 'use_contiguous_buffers_in_local_ddp',
  no_query_key_layer_scaling: 'apply_query_key_layer_scaling',
  no_delay_grad_reduce: 'delay_grad_reduce',
  no_align_grad_reduce: 'align_grad_reduce',
  no_align_param_gather: 'align_param_gather',
  no_check_for_nan_in_loss_and_grad: 'check_for_nan_in_loss_and_grad',
  no_check_for_nan_in_loss: 'check_for_nan_in_loss_and_grad',
  no_initialization: 'perform_initialization',
  no_position_embedding: 'add_position_embedding',
  no_fp8_wgrad: 'fp8_wgrad',
  no_data_sharding: 'data_sharding',
  no_manual_gc_eval: 'manual_gc_eval',
  no_mmap_bin_files: 'mmap_bin_files',
  no_ckpt_fully_parallel_save: 'ckpt_fully_parallel_save',
  no_strict_fsdp_dtensor_load: 'strict_fsdp_dtensor_load',
  no_create_attention_mask_in_dataloader: 'create_attention_mask_in_dataloader',
  no_use_tokenizer_model_from_checkpoint_args: 'use_tokenizer_model_from_checkpoint_args',
  no_use_tokenizer_from_checkpoint_args: 'use_tokenizer_model_from_checkpoint_args',
  no_barrier_with_level_1_timing: 'barrier_with_L1_time',
  no_log_learnig_rate_to_tensorboard: 'log_learning_rate_to_tensorboard',
  no_log_loss_scale_to_tensorboard: 'log_loss_scale_to_tensorboard',
  no_one_logger: 'enable_one_logger',
  no_sequence_parallel: 'sequence_parallel',
  no_pipeline_parallel: 'pipeline_parallel',
  disable_bias_linear: 'add_bias_linear',
  disable_gloo_process_groups: 'enable_gloo_process_groups',
  disable_tp_comm_bulk_dgrad: 'tp_comm_bulk_dgrad',
  disable_tp_comm_bulk_wgrad: 'tp_comm_bulk_wgrad',
  disable_tp_comm_overlap_ag: 'tp_comm_overlap_ag',
  disable_tp_comm_overlap_rs: 'tp_comm_overlap_rs',
  disable_tp_comm_split_ag: 'tp_comm_split_ag',
  disable_tp_comm_split_rs: 'tp_comm_split_rs',
  disable_mamba_mem_eff_path: 'use_mamba_mem_eff_path',
};

/** Arguments named after what they switch off (argparse `store_true`): a dump prints them as they are, we keep the opposite. */
export const INVERTED_KEYS: Readonly<Record<string, string>> = {
  untie_embeddings_and_output_weights: 'share_embeddings_and_output_weights',
  no_persist_layer_norm: 'persist_layer_norm',
  no_load_optim: 'load_optim',
  no_load_rng: 'load_rng',
  no_save_optim: 'save_optim',
  no_save_rng: 'save_rng',
};

/**
 * Sections whose keys look like others but mean something else: another model, another data set, another optimizer's
 * buffers. Keys below them keep the section in their name.
 */
const OTHER_NAMESPACES = new Set([
  'validation_ds',
  'test_ds',
  'vision_config',
  'vision_model_config',
  'vision_transformer_config',
  'vision_projection_config',
  'audio_config',
  'speech_config',
  'visual',
  'draft_model',
  'teacher',
  'teacher_config',
  'ref',
  'reference',
  'critic',
  'reward',
  'reward_model',
  'rollout',
  'flops_profiler',
  'aio',
  'activation_checkpointing',
  'amp',
  'autotuning',
  'quantization_config',
  'task_specific_params',
  'rope_scaling',
]);
/** DeepSpeed prints the section `aio` as `aio_config`. */
const SUFFIX = /(?<=^(?:aio|flops_profiler|activation_checkpointing|amp))_config$/;
/** Bridge's sections that override others where they hold anything (`CommOverlapConfig`, `MixedPrecisionConfig`): a null there sets nothing. */
const OVERRIDES = new Set(['comm_overlap', 'mixed_precision']);
/** Last parts that say nothing without what stands before them; the dictionary's own dotted names come first. */
const GENERIC = new Set([
  'enabled',
  'enable',
  'name',
  'type',
  'method',
  'path',
  'size',
  'value',
  'mode',
  'device',
  'config',
  'cfg',
  'args',
  'kwargs',
  'params',
  'dim',
  'alpha',
  'stage',
  'stages',
  'target',
  '_target_',
  '_args_',
  '_call_',
  '_partial_',
  'interval',
  'dir',
  'file',
  'format',
  'level',
  'options',
  'version',
  'rank',
  'id',
  'dropout',
  'bias',
  'backend',
  'compile',
  'steps',
]);
/** No section: what wraps a whole configuration. */
const WRAPPERS = new Set(['cfg', 'config', 'recipe', 'model_args', 'json', 'args', 'hparams', 'self']);

const ALIASES = new Map<string, string>();
const BARE = new Map<string, string>();
const LISTS = new Set<string>();
for (const entry of CONFIG_KEYS) {
  ALIASES.set(entry.key, entry.key);
  if (entry.isList) LISTS.add(entry.key);
}
for (const entry of CONFIG_KEYS) {
  for (const alias of entry.aliases) {
    if (alias.startsWith('^')) BARE.set(alias.slice(1), entry.key);
    else if (!ALIASES.has(alias)) ALIASES.set(alias, entry.key);
  }
}

/** Longest dotted name of the dictionary. */
const MOST_PARTS = 4;

function pathOf(rawKey: string): string[] {
  return rawKey
    .replace(/^[-+~]{1,4}/, '')
    .replaceAll('-', '_')
    .split(/[./]/)
    .filter((part) => part !== '' && !/^\d+$/.test(part));
}

function known(parts: readonly string[]): string | undefined {
  for (let count = Math.min(parts.length, MOST_PARTS); count > 1; count -= 1) {
    const found = ALIASES.get(parts.slice(-count).join('.'));
    if (found !== undefined) return found;
  }
  const last = parts.at(-1) ?? '';
  if (parts.length > 1 && GENERIC.has(last)) return undefined;
  const path = parts.slice(0, -1).filter((part) => !WRAPPERS.has(part.toLowerCase()));
  return (path.length === 0 ? BARE.get(last) : undefined) ?? ALIASES.get(last);
}

/**
 * `--tensor-model-parallel-size`, `model.tensor_model_parallel_size` → `tensor_model_parallel_size`. A key the dictionary does not
 * know keeps its last part in snake case, with its section before it where the last part alone says nothing (`tokenizer.type`).
 */
export function canonicalConfigKey(rawKey: string): string {
  const parts = pathOf(rawKey);
  const other = parts.findIndex(
    (part, index) => index < parts.length - 1 && OTHER_NAMESPACES.has(part.replace(SUFFIX, '')),
  );
  if (other >= 0) return [parts[other]!.replace(SUFFIX, ''), ...parts.slice(other + 1)].join('.');
  const last = parts.at(-1) ?? rawKey;
  // Tokenizers say the size of their own vocabulary, which the model pads.
  if (last === 'vocab_size' && parts.at(-2) === 'tokenizer') return 'tokenizer.vocab_size';
  const found = known(parts);
  if (found !== undefined) return found;
  return parts.length > 1 && GENERIC.has(last) ? parts.slice(-2).join('.') : last;
}

/** Whether the dictionary knows a key, in whatever spelling. */
export function isKnownConfigKey(rawKey: string): boolean {
  const name = pathOf(rawKey).join('.');
  return (
    own(NEGATED_FLAGS, name) !== undefined ||
    own(INVERTED_KEYS, name) !== undefined ||
    known(pathOf(rawKey)) !== undefined
  );
}

/** `constructor` is a key too. */
function own(table: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Settings whose value opens doors; the fact that they are set is kept, the value is not. */
const SECRET =
  /(?:^|_)(?:api_?key|secret|passw(?:or)?d|credentials?|(?:auth|access|hf|wandb|api)_token|private_key)(?:$|_)/i;

/** Values kept; a tokenizer's chat template or a list of shards is cut here. */
const MOST_VALUE_CHARS = 4096;

/**
 * Python, YAML and JSON scalars in one text form: `True`, `False`, null for None and its like, numbers as printed, lists and
 * dictionaries as JSON text, texts without their quotes, `torch.bfloat16` as `bfloat16`, `<AttnBackend.auto: 5>` and
 * `AttnBackend.auto` as `auto`.
 */
export function normaliseConfigValue(text: string): string | null {
  return shorten(literalText(readLiteral(text)));
}

function shorten(text: string | null): string | null {
  return text !== null && text.length > MOST_VALUE_CHARS ? `${text.slice(0, MOST_VALUE_CHARS)}…` : text;
}

/** The value of a key that holds a list, where one word or words with commas stand for it. */
function asList(value: string): string {
  if (value.startsWith('[') || value === '') return value;
  const items = value.split(',').map((item) => item.trim());
  return JSON.stringify(items.map((item) => (/^-?\d{1,15}$/.test(item) ? Number(item) : item)));
}

/**
 * A row of configuration.
 *
 * @param value normalised already, see {@link normaliseConfigValue}
 */
export function configFinding(rawKey: string, value: string | null, origin: ConfigOrigin): ConfigFinding {
  let canonical = canonicalConfigKey(rawKey);
  const parts = pathOf(rawKey);
  if (value === null && parts.length > 1 && OVERRIDES.has(parts.at(-2)!)) canonical = parts.slice(-2).join('.');
  let kept = SECRET.test(parts.at(-1) ?? '') && value !== null ? '(not kept)' : shorten(value);
  const opposite = own(INVERTED_KEYS, canonical);
  if (opposite !== undefined && (kept === 'True' || kept === 'False')) {
    return { row: 'config', key: opposite, rawKey, value: kept === 'True' ? 'False' : 'True', origin };
  }
  if (kept !== null && LISTS.has(canonical)) kept = asList(kept);
  return { row: 'config', key: canonical, rawKey, value: kept, origin };
}

/** A flag of a command line: `value` is null where none follows it. Negated flags set what they negate. */
export function flagFinding(flag: string, value: string | null, origin: ConfigOrigin): ConfigFinding {
  const name = flag.replace(/^-+/, '').replaceAll('-', '_');
  const negated = own(NEGATED_FLAGS, name);
  if (negated !== undefined && (value === null || value === 'True')) {
    return { ...configFinding(negated, 'False', origin), rawKey: flag };
  }
  return configFinding(flag, value === null ? 'True' : normaliseConfigValue(value), origin);
}

/** Where a setting lives: the section of Megatron Bridge's configuration (by its class) and the part of a NeMo recipe. */

export interface Places {
  /** Paths; a star stands for the key. Several where both must agree. */
  readonly bridge: readonly string[];
  readonly nemo: readonly string[];
}

const MODEL: Places = { bridge: ['cfg.model.*'], nemo: ['recipe.model.config.*'] };
/** NeMo keeps the mapping in the strategy. */
const MAPPING: Places = { bridge: ['cfg.model.*'], nemo: ['recipe.trainer.strategy.*'] };
const DDP: Places = { bridge: ['cfg.ddp.*'], nemo: ['recipe.trainer.strategy.ddp.*'] };
const OPTIMIZER: Places = { bridge: ['cfg.optimizer.*'], nemo: ['recipe.optim.config.*'] };
const TRAIN: Places = { bridge: ['cfg.train.*'], nemo: [] };
const BATCH: Places = { bridge: ['cfg.train.*'], nemo: ['recipe.data.*'] };
const OVERLAP: Places = { bridge: ['cfg.comm_overlap.*'], nemo: [] };
const PRECISION: Places = { bridge: ['cfg.mixed_precision.*'], nemo: ['recipe.trainer.plugins.*'] };
const PROFILING: Places = { bridge: ['cfg.profiling.*'], nemo: [] };
const CHECKPOINT: Places = { bridge: ['cfg.checkpoint.*'], nemo: [] };
const LOGGER: Places = { bridge: ['cfg.logger.*'], nemo: [] };
const PEFT: Places = { bridge: ['cfg.peft.*'], nemo: [] };
const DIST: Places = { bridge: ['cfg.dist.*'], nemo: [] };

const GROUPS: readonly (readonly [places: Places, keys: string])[] = [
  [
    MAPPING,
    `tensor_model_parallel_size pipeline_model_parallel_size virtual_pipeline_model_parallel_size context_parallel_size
    expert_model_parallel_size expert_tensor_parallel_size sequence_parallel pipeline_dtype encoder_tensor_model_parallel_size
    encoder_pipeline_model_parallel_size account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split
    num_layers_in_first_pipeline_stage num_layers_in_last_pipeline_stage`,
  ],
  [
    DDP,
    `overlap_grad_reduce overlap_param_gather align_param_gather bucket_size num_distributed_optimizer_instances
    data_parallel_sharding_strategy nccl_ub average_in_collective check_for_nan_in_grad fsdp_double_buffer
    suggested_communication_unit_size fsdp_manual_registration outer_dp_sharding_strategy keep_fp8_transpose_cache
    pad_buckets_for_high_nccl_busbw`,
  ],
  [
    OPTIMIZER,
    `use_precision_aware_optimizer main_grads_dtype main_params_dtype exp_avg_dtype exp_avg_sq_dtype store_param_remainders
    optimizer_cpu_offload optimizer_offload_fraction overlap_cpu_optimizer_d2h_h2d use_torch_optimizer_for_cpu_offload
    pin_cpu_grads pin_cpu_params decoupled_weight_decay optimizer lr min_lr weight_decay clip_grad adam_beta1 adam_beta2
    adam_eps overlap_param_gather_with_optimizer_step`,
  ],
  [TRAIN, 'manual_gc manual_gc_interval manual_gc_eval empty_unused_memory_level eval_interval eval_iters'],
  [BATCH, 'micro_batch_size global_batch_size'],
  [
    OVERLAP,
    `tp_comm_overlap tp_comm_overlap_cfg tp_comm_bootstrap_backend overlap_p2p_comm batch_p2p_comm delay_wgrad_compute
    overlap_moe_expert_parallel_comm defer_embedding_wgrad_compute wgrad_deferral_limit`,
  ],
  [PRECISION, 'fp8 fp8_recipe fp8_param fp8_param_gather bf16 fp16 first_last_layers_bf16'],
  [
    PROFILING,
    `use_nsys_profiler use_pytorch_profiler profile_step_start profile_step_end profile_ranks record_memory_history
    memory_snapshot_path`,
  ],
  [CHECKPOINT, 'ckpt_format save load save_interval async_save pretrained_checkpoint'],
  [LOGGER, 'log_interval log_memory_interval log_memory_to_tensorboard log_throughput timing_log_level'],
  [PEFT, 'sequence_parallel_input_regather'],
  [DIST, 'distributed_timeout_minutes'],
  // One setting that two classes hold and compare.
  [
    {
      bridge: ['cfg.optimizer.*', 'cfg.ddp.*'],
      nemo: ['recipe.trainer.strategy.ddp.*', 'recipe.optim.config.*'],
    },
    'use_distributed_optimizer',
  ],
  [{ bridge: ['cfg.ddp.*', 'cfg.mixed_precision.*'], nemo: ['recipe.trainer.strategy.ddp.*'] }, 'grad_reduce_in_fp32'],
  [{ bridge: ['cfg.ddp.*', 'cfg.optimizer.*'], nemo: [] }, 'reuse_grad_buf_for_mxfp8_param_ag'],
  [{ bridge: ['cfg.ddp.*', 'cfg.dist.*'], nemo: ['recipe.trainer.strategy.fsdp=megatron'] }, 'use_megatron_fsdp'],
  [{ bridge: ['cfg.dist.*'], nemo: ['recipe.trainer.strategy.fsdp=pytorch'] }, 'use_torch_fsdp2'],
  [{ bridge: ['cfg.dataset.*', 'cfg.model.*'], nemo: ['recipe.data.*'] }, 'seq_length'],
  [
    {
      bridge: ['cfg.dataset.packed_sequence_specs.*'],
      nemo: ['recipe.data.packed_sequence_specs.*'],
    },
    'packed_sequence_size',
  ],
  [{ bridge: ['cfg.rng.te_rng_tracker', 'cfg.model.*'], nemo: [] }, 'use_te_rng_tracker'],
  [{ bridge: ['cfg.rerun_state_machine.check_for_nan_in_loss'], nemo: [] }, 'check_for_nan_in_loss_and_grad'],
  [{ bridge: ['cfg.train.*'], nemo: ['recipe.trainer.max_steps'] }, 'train_iters'],
  // Newer than NeMo's guide, which has no name for them.
  [
    { bridge: ['cfg.model.*'], nemo: [] },
    `attention_backend cuda_graph_impl cuda_graph_modules recompute_modules distribute_saved_activations offload_modules
    fine_grained_activation_offloading cpu_offloading_activations cpu_offloading_double_buffering`,
  ],
  [{ bridge: [], nemo: ['recipe.trainer.strategy.fsdp'] }, 'strategy.fsdp'],
  [{ bridge: ['cfg.dataset.*'], nemo: ['recipe.data.*'] }, 'num_workers'],
  // The size of the job is the launcher's.
  [{ bridge: [], nemo: [] }, 'world_size data_parallel_size nproc_per_node'],
  [{ bridge: [], nemo: ['recipe.trainer.num_nodes'] }, 'nnodes'],
];

const PLACES = new Map(
  GROUPS.flatMap(([places, keys]) => keys.split(/\s+/).map((key): [string, Places] => [key, places])),
);

/** Most settings are the model's, of `TransformerConfig` and its kin. */
export function placesOf(key: string): Places {
  return PLACES.get(key) ?? MODEL;
}

export function asPlace(place: string, key: string): string {
  return place.replace('*', key);
}

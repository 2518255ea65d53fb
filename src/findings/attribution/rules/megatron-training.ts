/** What Megatron allocates around the model: batches, checkpoints, offloaded activations, inference caches, norms for the log. */
import type { AttributionRule } from '../match/rule.js';
import {
  EVALUATE,
  FORWARD_STEP,
  LOAD,
  PRETRAIN,
  SAVE,
  SCHEDULE,
  source,
  submodule,
  TRAIN_STEP,
  wheel,
} from './megatron-stacks.js';

const OFFLOAD = 'core/pipeline_parallel/fine_grained_activation_offload.py';
const DYNAMIC = 'core/inference/contexts/dynamic_context.py';
const SERIALIZATION = 'core/dist_checkpointing/serialization.py';
const EXCHANGE = 'core/dist_checkpointing/exchange_utils.py';

export const TRAINING_OWNERS: readonly AttributionRule[] = [
  {
    // An attention mask made on the device grows with the square of the sequence.
    id: 'mcore.batch',
    component: 'input',
    sub_component: 'batch',
    at: [
      {
        file: ['megatron/training/**', 'megatron/utils.py', 'megatron/legacy/**', 'core/utils.py', 'pretrain_*.py'],
        function: [
          'get_batch',
          'get_batch_on_this_tp_rank',
          'get_batch_on_this_cp_rank',
          'get_batch_on_this_hybrid_cp_rank',
          'get_thd_batch_on_this_cp_rank',
          'get_ltor_masks_and_position_ids',
        ],
      },
      { file: 'core/tensor_parallel/data.py' },
      { file: 'megatron/core/datasets/**' },
    ],
    source: 'Megatron-LM training/utils.py get_ltor_masks_and_position_ids (00caa53), get_batch_on_this_tp_rank',
    samples: [
      {
        frames: source('get_batch_on_this_tp_rank training/utils.py', 'get_batch pretrain_gpt.py', FORWARD_STEP),
        phase: 'forward',
        from: 'Megatron-LM training/utils.py get_batch_on_this_tp_rank (00caa53; this part not read)',
      },
      {
        frames: wheel('get_ltor_masks_and_position_ids training/utils.py', 'get_batch pretrain_gpt.py', FORWARD_STEP),
        from: 'Megatron-LM training/utils.py get_ltor_masks_and_position_ids (00caa53)',
      },
      {
        frames: source(
          'broadcast_data core/tensor_parallel/data.py',
          'get_batch pretrain_bert.py',
          'forward_step pretrain_bert.py',
          'forward_step core/pipeline_parallel/schedules.py',
          'forward_backward_no_pipelining core/pipeline_parallel/schedules.py',
          EVALUATE,
        ),
        phase: 'eval',
        from: 'Megatron-LM core/tensor_parallel/data.py broadcast_data (not read)',
      },
    ],
  },
  {
    id: 'mcore.graph-static-input',
    component: 'input',
    sub_component: 'graph_static_input',
    at: {
      file: ['core/full_cuda_graph.py', 'training/full_cuda_graph.py'],
      function: ['StaticBufferLoader.__call__', 'copy_tensors_in_struct', 'data_read'],
    },
    // Of the two `__call__`s of that file the wrapper's is in every stack: the loader's is the one further in.
    through: {
      file: ['core/full_cuda_graph.py', 'training/full_cuda_graph.py'],
      function: ['copy_tensors_in_struct', 'StaticBufferLoader.__call__'],
    },
    source: 'Megatron-LM core/full_cuda_graph.py StaticBufferLoader.__call__ (00caa53)',
    samples: [
      {
        frames: source(
          'copy_tensors_in_struct core/full_cuda_graph.py',
          '<dictcomp> core/full_cuda_graph.py',
          'copy_tensors_in_struct core/full_cuda_graph.py',
          '__call__ core/full_cuda_graph.py',
          'data_read core/full_cuda_graph.py',
          '__call__ core/full_cuda_graph.py',
          TRAIN_STEP,
        ),
        pool: 'default',
        lifetime: 'resident',
        from: 'Megatron-LM core/full_cuda_graph.py copy_tensors_in_struct (00caa53)',
      },
      {
        frames: source(
          '__call__ core/full_cuda_graph.py',
          'data_read core/full_cuda_graph.py',
          '__call__ core/full_cuda_graph.py',
          TRAIN_STEP,
        ),
        pool: 'default',
        from: 'Megatron-LM core/full_cuda_graph.py StaticBufferLoader.__call__ (empty_like of a key that is new; 00caa53)',
      },
    ],
  },
  {
    id: 'mcore.checkpoint',
    component: 'checkpoint',
    sub_component: 'dist_checkpointing',
    at: { file: 'core/dist_checkpointing/**' },
    source: `Megatron-LM ${SERIALIZATION} save, load (0057095); strategies/filesystem_async.py preload_tensors (00caa53)`,
    samples: [
      {
        frames: source(
          'preload_tensors core/dist_checkpointing/strategies/filesystem_async.py',
          'schedule_async_call core/dist_checkpointing/strategies/async_utils.py',
          'schedule_async_request core/dist_checkpointing/strategies/async_utils.py',
          'schedule_async_save training/async_utils.py',
          SAVE,
        ),
        phase: 'checkpoint_save',
        from: 'Megatron-LM core/dist_checkpointing/strategies/filesystem_async.py FileSystemWriterAsync.preload_tensors (00caa53)',
      },
      {
        frames: source(
          `_get_empty_tensor_for_exchange ${EXCHANGE}`,
          `exchange_loaded_tensors_broadcast ${EXCHANGE}`,
          'decorate_context torch/utils/_contextlib.py',
          `exchange_by_distribution ${EXCHANGE}`,
          'load core/dist_checkpointing/strategies/fully_parallel.py',
          `load ${SERIALIZATION}`,
          '_load_global_dist_base_checkpoint training/checkpointing.py',
          '_load_base_checkpoint training/checkpointing.py',
          LOAD,
        ),
        phase: 'checkpoint_load',
        from: `Megatron-LM ${EXCHANGE} exchange_loaded_tensors_broadcast (00c2c0a)`,
      },
      {
        frames: submodule(
          'dequantize te/tensor/float8_tensor.py',
          'force_all_tensors_to_non_fp8 core/dist_checkpointing/utils.py',
          `load ${SERIALIZATION}`,
          '_load_checkpoint_from_path bridge/training/checkpointing.py',
          'load_checkpoint bridge/training/checkpointing.py',
          'setup bridge/training/setup.py',
        ),
        phase: 'checkpoint_load',
        from: `Megatron-LM ${SERIALIZATION} load calls force_all_tensors_to_non_fp8 (0057095)`,
      },
    ],
  },
  {
    id: 'mcore.checkpoint-clone',
    component: 'checkpoint',
    sub_component: 'staging',
    at: [
      { file: ['megatron/training/checkpointing.py', 'megatron/training/async_utils.py', 'megatron/checkpointing.py'] },
      {
        file: [
          'core/optimizer/distrib_optimizer.py',
          'core/optimizer/optimizer.py',
          'core/optimizer/layer_wise_optimizer.py',
        ],
        function: ['get_parameter_state*', 'sharded_param_state_*', 'sharded_state_dict', 'split_state_dict_if_needed'],
      },
      {
        file: 'megatron/core/**',
        function: ['sharded_state_dict', 'sharded_state_dict_default', 'sh_ten_build_fn', 'sh_ten_merge_fn'],
      },
    ],
    // Dummy states that a load creates are states.
    without: { function: '_init_optimizer_states_with_dummy_values' },
    source:
      'Megatron-LM core/optimizer/distrib_optimizer.py get_parameter_state_dp_zero, sharded_param_state_* (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          'get_parameter_state_dp_zero core/optimizer/distrib_optimizer.py',
          'sharded_param_state_dp_zero core/optimizer/distrib_optimizer.py',
          'sharded_state_dict core/optimizer/distrib_optimizer.py',
          'generate_state_dict training/checkpointing.py',
          SAVE,
        ),
        phase: 'checkpoint_save',
        from: 'Megatron-LM core/optimizer/distrib_optimizer.py DistributedOptimizer.get_parameter_state_dp_zero (not read; megatron.md 5.2)',
      },
      {
        frames: wheel(
          'sh_ten_build_fn core/transformer/mlp.py',
          'apply core/dist_checkpointing/mapping.py',
          'sharded_state_dict core/transformer/mlp.py',
          'sharded_state_dict core/transformer/module.py',
          'generate_state_dict training/checkpointing.py',
          SAVE,
        ),
        phase: 'checkpoint_save',
        from: 'Megatron-LM core/transformer/mlp.py apply_swiglu_sharded_factory (not read)',
      },
    ],
  },
  {
    id: 'mcore.checkpoint-staging',
    component: 'checkpoint',
    sub_component: 'async_staging',
    at: { file: 'nvidia_resiliency_ext/checkpointing/**' },
    source:
      'nvidia-resiliency-ext src/nvidia_resiliency_ext/checkpointing (megatron.md 5.2); Megatron Bridge training/checkpointing.py local_checkpoint_manager (013da21)',
    samples: [
      {
        frames: submodule(
          'copy_tensors_to_cpu nvidia_resiliency_ext/checkpointing/local/basic_state_dict.py',
          'save nvidia_resiliency_ext/checkpointing/local/ckpt_managers/base_manager.py',
          'save_checkpoint bridge/training/checkpointing.py',
          'save_checkpoint_and_time bridge/training/train.py',
          'train bridge/training/train.py',
        ),
        phase: 'checkpoint_save',
        from: 'Megatron Bridge training/checkpointing.py save_checkpoint, local_checkpoint_manager.save (013da21); nvidia_resiliency_ext base_manager.py (not read)',
      },
    ],
  },
  {
    id: 'mcore.activation-offload',
    component: 'offload_buffer',
    sub_component: 'activation_reload',
    at: {
      file: [OFFLOAD, 'core/transformer/cpu_offload.py', 'core/pipeline_parallel/cpu_offload.py'],
      function: [
        'reload',
        'offload',
        'bulk_reload*',
        'bulk_offload*',
        'tensor_pop',
        'tensor_push',
        'pre_reload_last_layer',
        'on_group_*',
        'OffloadTensorPool.allocate',
        'on_save_for_backward',
        'on_get_saved_tensor',
      ],
    },
    source: `Megatron-LM ${OFFLOAD} ChunkOffloadHandler.reload (008df8a)`,
    samples: [
      {
        frames: source(
          `reload ${OFFLOAD}`,
          `bulk_reload_group ${OFFLOAD}`,
          `bulk_reload ${OFFLOAD}`,
          `on_group_start_backward ${OFFLOAD}`,
          `backward ${OFFLOAD}`,
          'apply',
        ),
        phase: 'backward',
        from: `Megatron-LM ${OFFLOAD} ChunkOffloadHandler.bulk_reload_group (008df8a)`,
      },
      {
        frames: submodule(
          `ChunkOffloadHandler.reload ${OFFLOAD}`,
          `ChunkOffloadHandler.tensor_pop ${OFFLOAD}`,
          `PipelineOffloadManager.on_get_saved_tensor ${OFFLOAD}`,
          'backward te/module/linear.py',
          'apply',
        ),
        from: `Megatron-LM ${OFFLOAD} ChunkOffloadHandler.tensor_pop (008df8a)`,
      },
    ],
  },
  {
    id: 'mcore.mamba-state-cache',
    component: 'kv_cache',
    sub_component: 'mamba_state',
    at: [
      { file: 'core/inference/contexts/**', function: ['allocate_mamba_states', '_allocate_mamba_states'] },
      { file: 'core/ssm/**', function: ['allocate_inference_cache', '_get_states_from_cache'] },
      { file: 'core/inference/contexts/*slot_allocator.py' },
    ],
    source: `Megatron-LM ${DYNAMIC} allocate_mamba_states (0044f2f); core/ssm/mamba_mixer.py _get_states_from_cache (00bebb4)`,
    samples: [
      {
        frames: source(
          `allocate_mamba_states ${DYNAMIC}`,
          `allocate_all_tensors ${DYNAMIC}`,
          `__init__ ${DYNAMIC}`,
          'get_inference_context examples/inference/gpt/gpt_dynamic_inference.py',
          'main examples/inference/gpt/gpt_dynamic_inference.py',
        ),
        from: `Megatron-LM ${DYNAMIC} allocate_all_tensors.allocate_mamba_states (0044f2f)`,
      },
    ],
  },
  {
    id: 'mcore.kv-cache',
    component: 'kv_cache',
    sub_component: 'kv_cache',
    at: [
      { file: 'core/transformer/attention.py', function: ['_allocate_memory', '_adjust_key_value_for_inference'] },
      { file: ['core/inference/contexts/**', 'core/inference/unified_memory.py', 'core/inference_params.py'] },
    ],
    source: `Megatron-LM ${DYNAMIC} allocate_memory_buffer (0044f2f); contexts/static_context.py keeps what attention.py _allocate_memory makes (00caa53)`,
    samples: [
      {
        frames: source(
          `allocate_memory_buffer ${DYNAMIC}`,
          `allocate_all_tensors ${DYNAMIC}`,
          `__init__ ${DYNAMIC}`,
          'get_inference_context examples/inference/gpt/gpt_dynamic_inference.py',
          'main examples/inference/gpt/gpt_dynamic_inference.py',
        ),
        lifetime: 'resident',
        from: `Megatron-LM ${DYNAMIC} DynamicInferenceContext.allocate_all_tensors (0044f2f)`,
      },
      {
        frames: wheel(
          '_allocate_memory core/transformer/attention.py',
          '_adjust_key_value_for_inference core/transformer/attention.py',
          'forward core/transformer/attention.py',
          'call',
          '_forward_attention core/transformer/transformer_layer.py',
          'forward core/transformer/transformer_layer.py',
          'call',
          'forward core/transformer/transformer_block.py',
          'call',
          'forward core/models/gpt/gpt_model.py',
        ),
        from: 'Megatron-LM core/transformer/attention.py Attention._adjust_key_value_for_inference (f41b4fd)',
      },
    ],
  },
  {
    id: 'mcore.params-norm',
    component: 'temporary',
    sub_component: 'params_norm',
    at: [
      {
        file: [
          'megatron/training/utils.py',
          'training/utils/common_utils.py',
          'megatron/utils.py',
          'bridge/training/utils/train_utils.py',
        ],
        function: [
          'calc_params_l2_norm',
          'calc_dtensor_params_l2_norm',
          'report_l2_norm_grad',
          'print_params_min_max_norm',
        ],
      },
    ],
    source:
      'Megatron-LM training/utils.py calc_params_l2_norm makes fp32 copies where there is no main_param (00caa53)',
    samples: [
      {
        frames: source('calc_params_l2_norm training/utils.py', 'train training/training.py', PRETRAIN),
        from: 'Megatron-LM training/utils.py calc_params_l2_norm (00caa53)',
      },
      {
        frames: submodule(
          'calc_params_l2_norm bridge/training/utils/train_utils.py',
          'train bridge/training/train.py',
          '_pretrain bridge/training/pretrain.py',
        ),
        from: 'Megatron Bridge training/utils/train_utils.py calc_params_l2_norm (not read; megatron.md 5.2)',
      },
    ],
  },
  {
    id: 'mcore.diagnostics',
    component: 'temporary',
    sub_component: 'diagnostics',
    at: [
      { file: 'core/rerun_state_machine.py' },
      { file: 'core/utils.py', function: 'check_param_hashes_across_dp_replicas' },
      { file: 'core/distributed/param_and_grad_buffer.py', function: 'check_grads' },
    ],
    source:
      'Megatron-LM core/distributed/param_and_grad_buffer.py check_grads (0011998); Megatron Bridge training/train.py post_training_step_callbacks calls check_param_hashes_across_dp_replicas (006430a)',
    samples: [
      {
        frames: source(
          'check_grads core/distributed/param_and_grad_buffer.py',
          'start_grad_sync core/distributed/param_and_grad_buffer.py',
          'finish_grad_sync core/distributed/param_and_grad_buffer.py',
          'finish_grad_sync core/distributed/distributed_data_parallel.py',
          'finalize_model_grads core/distributed/finalize_model_grads.py',
          SCHEDULE,
        ),
        phase: 'grad_finalize',
        from: 'Megatron-LM core/distributed/param_and_grad_buffer.py _ParamAndGradBucketGroup.check_grads (0011998)',
      },
      {
        frames: submodule(
          'check_param_hashes_across_dp_replicas core/utils.py',
          'post_training_step_callbacks bridge/training/train.py',
          'train bridge/training/train.py',
        ),
        from: 'Megatron Bridge training/train.py post_training_step_callbacks (006430a)',
      },
    ],
  },
  {
    id: 'mcore.training-log',
    component: 'temporary',
    sub_component: 'logging',
    at: [
      { file: ['megatron/training/training.py', 'bridge/training/utils/train_utils.py'], function: 'training_log' },
      {
        file: [
          'megatron/training/utils.py',
          'training/utils/common_utils.py',
          'core/utils.py',
          'bridge/**/train_utils.py',
          'core/timers.py',
        ],
        function: [
          'reduce_max_stat_across_model_parallel_group',
          'logical_and_across_model_parallel_group',
          'average_losses_across_data_parallel_group',
        ],
      },
    ],
    source:
      'Megatron-LM training/training.py training_log (86df799), training/utils.py reduce_max_stat_across_model_parallel_group (00caa53)',
    samples: [
      {
        frames: source('training_log training/training.py', 'train training/training.py', PRETRAIN),
        phase: 'logging',
        from: 'Megatron-LM training/training.py training_log (86df799)',
      },
      {
        frames: source('reduce_max_stat_across_model_parallel_group training/utils.py', TRAIN_STEP),
        from: 'Megatron-LM training/utils.py reduce_max_stat_across_model_parallel_group (00caa53)',
      },
    ],
  },
  {
    id: 'mcore.init-warmup',
    component: 'temporary',
    sub_component: 'init_warmup',
    at: [
      {
        file: ['megatron/training/initialize.py', 'bridge/training/initialize.py'],
        function: [
          '_warmup_jit_function',
          'set_jit_fusion_options',
          '_set_random_seed',
          'init_distributed',
          '_initialize_distributed',
        ],
      },
      { file: 'core/parallel_state.py', function: 'initialize_model_parallel' },
    ],
    source:
      'Megatron Bridge training/setup.py setup calls set_jit_fusion_options (004b734); Megatron-LM training/initialize.py _warmup_jit_function',
    samples: [
      {
        frames: source(
          'bias_gelu core/fusions/fused_bias_gelu.py',
          '_warmup_jit_function training/initialize.py',
          'set_jit_fusion_options training/initialize.py',
          PRETRAIN,
        ),
        from: 'Megatron-LM training/initialize.py _warmup_jit_function (not read)',
      },
    ],
  },
];

export const TRAINING_GENERIC: readonly AttributionRule[] = [
  {
    // What no layer of the step claims, so that it is not left without a name.
    id: 'mcore.train-step',
    component: 'temporary',
    sub_component: 'train_step',
    at: [
      {
        file: ['megatron/training/training.py', 'bridge/training/train.py', 'bridge/training/eval.py'],
        function: ['train_step', 'evaluate', 'train', 'setup_model_and_optimizer', 'pretrain', 'initialize_megatron'],
      },
    ],
    without: [{ file: 'core/pipeline_parallel/schedules.py' }],
    source: 'Megatron-LM training/training.py train_step, pretrain (001b00c)',
    samples: [
      {
        frames: source(TRAIN_STEP),
        from: 'Megatron Bridge training/train.py train_step sums the losses (006430a), as Megatron-LM training/training.py does',
      },
      {
        frames: source('pretrain training/training.py', '<module> pretrain_gpt.py'),
        from: 'Megatron-LM training/training.py pretrain, start_time_tensor (001b00c)',
      },
    ],
  },
];

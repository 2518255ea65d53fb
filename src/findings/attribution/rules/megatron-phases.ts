/**
 * Phases told by frames of Megatron-LM, Transformer Engine, Megatron Bridge and NeMo.
 *
 * In backward a stack ends at the autograd function, hook or checkpoint that runs on the engine's thread: `backward_step` is seen only in what the main thread allocates
 * around it, so every file whose `backward` allocates is named.
 */
import type { FramePattern, PhaseRule } from '../match/rule.js';

const TRAINING = 'megatron/training/training.py';
const BRIDGE = 'bridge/training';

export const MEGATRON_PHASES: readonly PhaseRule[] = [
  {
    phase: 'eval',
    at: [
      {
        file: [TRAINING, `${BRIDGE}/eval.py`, 'megatron/training.py'],
        function: ['evaluate', 'evaluate_and_print_results', 'evaluate_and_print_results_rl'],
      },
      {
        file: ['nemo/lightning/megatron_parallel.py', 'nemo/lightning/pytorch/strategies/megatron_strategy.py'],
        function: ['validation_step', 'test_step', 'predict_step'],
      },
    ],
    source:
      'Megatron Bridge training/eval.py evaluate (05e4568); Megatron-LM training/training.py evaluate_and_print_results (001b00c)',
  },
  {
    phase: 'graph_capture',
    at: [
      {
        file: 'core/transformer/cuda_graphs.py',
        function: ['create_cudagraphs', 'create_fwd_graph', 'create_bwd_graph'],
      },
      { file: 'transformer_engine/pytorch/graph.py', function: ['make_graphed_callables', '_make_graphed_callables'] },
    ],
    source: 'Megatron-LM core/transformer/cuda_graphs.py (0004de1); TransformerEngine pytorch/graph.py (02d6bdc)',
  },
  {
    phase: 'checkpoint_save',
    at: [
      {
        file: [
          'megatron/training/checkpointing.py',
          'megatron/checkpointing.py',
          `${BRIDGE}/checkpointing.py`,
          TRAINING,
          `${BRIDGE}/train.py`,
        ],
        function: [
          'save_checkpoint',
          'save_checkpoint_and_time',
          'schedule_async_save',
          'maybe_save_dataloader_state',
          'save_grads',
        ],
      },
      {
        file: ['megatron/training/async_utils.py', `${BRIDGE}/checkpointing.py`],
        function: ['schedule_async_save', 'maybe_finalize_async_save'],
      },
      { file: 'core/dist_checkpointing/serialization.py', function: 'save' },
      {
        file: [
          'nemo/lightning/io/pl.py',
          'nemo/lightning/pytorch/strategies/megatron_strategy.py',
          'nemo/utils/callbacks/dist_ckpt_io.py',
        ],
        function: 'save_checkpoint',
      },
    ],
    source:
      'Megatron Bridge training/train.py save_checkpoint_and_time (006430a); Megatron-LM training/training.py save_checkpoint_and_time (86df799)',
  },
  {
    phase: 'checkpoint_load',
    at: [
      {
        file: ['megatron/training/checkpointing.py', 'megatron/checkpointing.py', `${BRIDGE}/checkpointing.py`],
        function: [
          'load_checkpoint',
          '_load_checkpoint_from_path',
          '_load_base_checkpoint',
          '_load_global_dist_base_checkpoint',
        ],
      },
      { file: 'core/dist_checkpointing/serialization.py', function: 'load' },
      { file: `${BRIDGE}/model_load_save.py` },
      { file: 'bridge/models/conversion/**', function: ['load_hf_weights', 'load_weights_hf_to_megatron'] },
      {
        file: [
          'nemo/lightning/io/pl.py',
          'nemo/lightning/pytorch/strategies/megatron_strategy.py',
          'nemo/utils/callbacks/dist_ckpt_io.py',
        ],
        function: ['load_checkpoint', 'load_model_state_dict', 'load_optimizer_state_dict', 'selective_restore'],
      },
    ],
    source:
      'Megatron Bridge training/setup.py checkpoint_manager.load (004b734), training/checkpointing.py (013da21); Megatron-LM core/dist_checkpointing/serialization.py load (0057095)',
  },
  {
    phase: 'optimizer_build',
    at: [
      {
        file: ['core/optimizer/__init__.py', 'core/optimizer/muon.py', 'core/optimizer/emerging_optimizers.py'],
        function: [
          'get_megatron_optimizer',
          'get_megatron_muon_optimizer',
          '_get_megatron_optimizer_based_on_param_groups',
          '_get_megatron_emerging_optimizer',
        ],
      },
      { file: `${BRIDGE}/optim.py`, function: 'setup_optimizer' },
      { file: 'nemo/lightning/_strategy_lib.py', function: 'setup_megatron_optimizer' },
      { file: 'nemo/lightning/pytorch/strategies/megatron_strategy.py', function: 'setup_optimizers' },
    ],
    source:
      'Megatron-LM core/optimizer/muon.py get_megatron_muon_optimizer calls get_megatron_optimizer (025c931); Megatron Bridge training/setup.py setup_optimizer (004b734)',
  },
  {
    phase: 'param_gather',
    at: [
      {
        file: [
          'core/distributed/param_and_grad_buffer.py',
          'core/distributed/distributed_data_parallel.py',
          'core/optimizer/distrib_optimizer.py',
        ],
        function: ['start_param_sync', 'finish_param_sync'],
      },
      {
        file: ['megatron_fsdp/**', 'custom_fsdp/**', 'nvfsdp/**'],
        function: [
          'async_bucket_gather',
          'all_gather_params',
          'all_gather_and_wait_parameters_ready',
          'all_gather_pipeline*',
        ],
      },
    ],
    source:
      'Megatron-LM core/distributed/param_and_grad_buffer.py start_param_sync (0011998), core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py all_gather_params (0056bc9)',
  },
  {
    phase: 'grad_finalize',
    at: { file: 'core/distributed/finalize_model_grads.py', function: 'finalize_model_grads' },
    source: 'Megatron-LM core/distributed/finalize_model_grads.py finalize_model_grads (00c2c0a)',
  },
  {
    phase: 'optimizer_step',
    at: [
      {
        file: [
          'core/optimizer/optimizer.py',
          'core/optimizer/distrib_optimizer.py',
          'core/optimizer/layer_wise_optimizer.py',
          'core/optimizer/cpu_offloading/hybrid_optimizer.py',
        ],
        function: ['step', 'step_with_ready_grads', 'prepare_grads'],
      },
      {
        file: ['transformer_engine/pytorch/optimizers/*.py', 'apex/optimizers/*.py', 'emerging_optimizers/**'],
        function: 'step',
      },
    ],
    source:
      'Megatron-LM core/optimizer/optimizer.py MixedPrecisionOptimizer.step (0011998); TransformerEngine pytorch/optimizers/fused_adam.py step (04912bf)',
  },
  {
    phase: 'backward',
    at: [
      {
        file: 'core/pipeline_parallel/schedules.py',
        function: ['backward_step', 'custom_backward', 'backward_step_helper'],
      },
      {
        file: [
          'megatron/core/**',
          'megatron_fsdp/**',
          'transformer_engine/pytorch/**',
          'mamba_ssm/**',
          'grouped_gemm/**',
          'bridge/peft/**',
        ],
        function: ['backward', 'op_backward', 'fuser_backward', 'backward_dw'],
      },
      { file: 'core/tensor_parallel/random.py', function: ['_recompute', '_unified_recompute_hook'] },
      {
        file: ['core/distributed/param_and_grad_buffer.py', 'core/distributed/distributed_data_parallel.py'],
        function: 'register_grad_ready',
      },
      {
        file: ['megatron_fsdp/**', 'custom_fsdp/**', 'nvfsdp/**'],
        function: [
          '_process_post_backward_gradients',
          '_root_post_backward',
          '_post_backward*',
          '_pre_backward*',
          '_grad_acc',
        ],
      },
      { file: 'transformer_engine/pytorch/distributed.py', function: ['unpack_hook', 'recompute_fn'] },
      {
        file: [
          'transformer_engine/pytorch/cpu_offload*.py',
          'core/pipeline_parallel/fine_grained_activation_offload.py',
        ],
        function: [
          'bwd_step',
          'start_reload',
          'bulk_reload*',
          'reload',
          'tensor_pop',
          'on_get_saved_tensor',
          'on_group_*_backward',
        ],
      },
    ],
    source:
      'Megatron-LM core/pipeline_parallel/schedules.py backward_step (4dabc62), core/tensor_parallel/random.py (004bfb5), core/distributed/distributed_data_parallel.py (0011998); TransformerEngine pytorch/module/linear.py (0004dbd)',
  },
  {
    phase: 'forward',
    at: [
      {
        file: 'core/pipeline_parallel/schedules.py',
        function: ['forward_step', 'forward_step_helper', 'forward_step_calc_loss'],
      },
      { file: 'core/pipeline_parallel/combined_1f1b.py' },
      {
        file: ['megatron/core/models/**', 'core/transformer/transformer_block.py', 'core/ssm/mamba_block.py'],
        function: 'forward',
      },
    ],
    source:
      'Megatron-LM core/pipeline_parallel/schedules.py forward_step (4dabc62), core/models/gpt/gpt_model.py forward (007562f)',
  },
  {
    phase: 'model_build',
    at: [
      { file: [TRAINING, 'megatron/training.py'], function: ['get_model', 'setup_model_and_optimizer'] },
      {
        file: ['pretrain_*.py', 'model_provider.py', 'gpt_builders.py', 'mamba_builders.py'],
        function: ['model_provider', 'gpt_builder', 'mamba_builder'],
      },
      {
        file: 'bridge/models/**',
        function: ['provide', 'provide_distributed_model', 'get_model', 'build_model', 'build_distributed_models'],
      },
      { file: `${BRIDGE}/setup.py`, function: ['_build_distributed_model', '*pre_wrap_hook'] },
      { file: 'nemo/**', function: ['configure_model', 'setup_megatron_parallel', 'init_ddp', 'init_model_parallel'] },
    ],
    source:
      'Megatron Bridge training/setup.py _build_distributed_model (004b734); Megatron-LM training/training.py setup_model_and_optimizer (001b00c); NeMo nemo/collections/llm/gpt/model/base.py configure_model (0175f4c)',
  },
  {
    phase: 'logging',
    at: [
      { file: [TRAINING, 'megatron/training.py', `${BRIDGE}/utils/train_utils.py`], function: 'training_log' },
      {
        file: ['megatron/training/utils.py', 'training/utils/common_utils.py', `${BRIDGE}/utils/train_utils.py`],
        function: ['calc_params_l2_norm', 'report_l2_norm_grad', 'report_memory'],
      },
    ],
    source: 'Megatron-LM training/training.py training_log (86df799), training/utils.py calc_params_l2_norm (00caa53)',
  },
];

/**
 * Frames below which a forward pass runs again. A bare `backward` of `random.py` may be that of `CheckpointWithoutOutputFunction`, which runs no forward: where names are
 * not qualified the two cannot be told apart.
 */
export const MEGATRON_RECOMPUTE: readonly FramePattern[] = [
  {
    file: 'core/tensor_parallel/random.py',
    function: ['CheckpointFunction.backward', 'CheckpointWithoutOutput._recompute', '_unified_recompute_hook'],
  },
  {
    file: 'transformer_engine/pytorch/distributed.py',
    function: ['_CheckpointFunction.backward', 'CheckpointFunction.backward', 'recompute_fn', 'unpack_hook'],
  },
];

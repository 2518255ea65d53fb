/** Transformer Engine 1.x and 2.x: optimizer states, workspaces, userbuffers. */
import type { AttributionRule } from '../match/rule.js';
import {
  ATTENTION,
  OPTIMIZER_STEP,
  READY_GRADS,
  source,
  submodule,
  TE_LAYERNORM_LINEAR,
  TE_LINEAR,
  wheel,
} from './megatron-stacks.js';
import { FUSED_ADAM, MODULES, TE } from './transformer-engine-files.js';
import { MODULE_OWNERS } from './transformer-engine-modules.js';

export { TRANSFORMER_ENGINE_GENERIC, TRANSFORMER_ENGINE_LAYERS } from './transformer-engine-layers.js';

const STEP = ['step te/optimizers/fused_adam.py', 'wrapper torch/optim/optimizer.py', ...READY_GRADS.slice(2)];

const STATE_OWNERS: readonly AttributionRule[] = [
  {
    // exp_avg first, then exp_avg_sq, then with master weights the main parameter, one call each.
    id: 'te.fused-adam-moments',
    component: 'optimizer_state',
    sub_component: 'moments',
    at: { file: FUSED_ADAM, function: ['initialize_state', '_initialize_state', 'set_scaled_state'] },
    source: 'TransformerEngine pytorch/optimizers/fused_adam.py FusedAdam._initialize_state (04912bf)',
    samples: [
      {
        frames: source(
          '_initialize_state te/optimizers/fused_adam.py',
          'initialize_state te/optimizers/fused_adam.py',
          STEP,
        ),
        lifetime: 'resident',
        phase: 'optimizer_step',
        from: 'TransformerEngine pytorch/optimizers/fused_adam.py FusedAdam.step (04912bf)',
      },
      {
        // FP8 moments of the precision-aware optimizer.
        frames: submodule(
          'make_empty te/tensor/float8_tensor.py',
          'FusedAdam._initialize_state te/optimizers/fused_adam.py',
          'FusedAdam.initialize_state te/optimizers/fused_adam.py',
          'init_state_fn core/optimizer/__init__.py',
          '_init_optimizer_states_with_dummy_values core/optimizer/distrib_optimizer.py',
          'sharded_state_dict core/optimizer/distrib_optimizer.py',
          'load_checkpoint bridge/training/checkpointing.py',
        ),
        phase: 'checkpoint_load',
        from: 'TransformerEngine pytorch/optimizers/fused_adam.py _initialize_state with uint8 states (04912bf)',
      },
      {
        frames: source(
          '_initialize_state te/optimizers/fused_adam.py',
          'initialize_state te/optimizers/fused_adam.py',
          'step te/optimizers/fused_adam.py',
          'wrapper torch/optim/optimizer.py',
          'step core/optimizer/cpu_offloading/hybrid_optimizer.py',
          'wrapper torch/optim/optimizer.py',
          OPTIMIZER_STEP,
        ),
        from: 'TransformerEngine pytorch/optimizers/fused_adam.py (04912bf); Megatron-LM core/optimizer/cpu_offloading/hybrid_optimizer.py step (0d41ecd)',
      },
    ],
  },
  {
    id: 'te.fused-adam-loaded-state',
    component: 'optimizer_state',
    sub_component: 'loaded_state',
    at: { file: FUSED_ADAM, function: 'load_state_dict' },
    source: 'TransformerEngine pytorch/optimizers/fused_adam.py FusedAdam.load_state_dict (04912bf)',
    samples: [
      {
        frames: source(
          'load_state_dict te/optimizers/fused_adam.py',
          'load_state_dict core/optimizer/distrib_optimizer.py',
          'load_checkpoint training/checkpointing.py',
        ),
        phase: 'checkpoint_load',
        from: 'TransformerEngine pytorch/optimizers/fused_adam.py FusedAdam.load_state_dict (04912bf)',
      },
    ],
  },
  {
    id: 'te.fused-adam-unscaled',
    component: 'temporary',
    sub_component: 'unscaled_state',
    at: [
      { file: FUSED_ADAM, function: ['get_unscaled_state', '_apply_scale', 'step', 'state_dict'] },
      { file: [`${TE}/optimizers/fused_sgd.py`] },
    ],
    source: 'TransformerEngine pytorch/optimizers/fused_adam.py get_unscaled_state, _apply_scale (04912bf)',
    samples: [
      {
        frames: source('get_unscaled_state te/optimizers/fused_adam.py', STEP),
        phase: 'optimizer_step',
        from: 'TransformerEngine pytorch/optimizers/fused_adam.py FusedAdam.get_unscaled_state (04912bf)',
      },
    ],
  },
  {
    id: 'te.cublas-workspace',
    component: 'workspace',
    sub_component: 'cublas_workspace',
    at: {
      file: [`${TE}/cpp_extensions/gemm.py`, `${TE}/module/base.py`, `${TE}/cpp_extensions/batch_invariant_gemm.py`],
      function: [
        'get_cublas_workspace',
        'get_workspace',
        'get_multi_stream_cublas_workspace',
        'get_cublas_workspace_size_bytes',
      ],
    },
    source:
      'TransformerEngine pytorch/module/base.py get_workspace (0004dbd), pytorch/cpp_extensions/gemm.py get_cublas_workspace (stored file 59094266000)',
    samples: [
      {
        // 32 MiB and 1 KiB for alignment since NVFP4.
        frames: submodule(
          'get_cublas_workspace te/cpp_extensions/gemm.py',
          'general_gemm te/cpp_extensions/gemm.py',
          'forward te/module/layernorm_linear.py',
          TE_LAYERNORM_LINEAR.slice(1),
          'get_query_key_value_tensors core/transformer/attention.py',
          ATTENTION,
        ),
        bytes: 33_555_456,
        lifetime: 'resident',
        from: 'TransformerEngine pytorch/cpp_extensions/gemm.py get_cublas_workspace (stored file 59094266000)',
      },
      {
        frames: wheel('get_workspace te/module/base.py', TE_LINEAR, ATTENTION),
        bytes: 33_554_432,
        from: 'TransformerEngine pytorch/module/base.py get_workspace, linear.py _Linear.forward (0004dbd)',
      },
      {
        frames: source(
          'get_multi_stream_cublas_workspace te/module/base.py',
          'backward te/module/grouped_linear.py',
          'apply',
        ),
        from: 'TransformerEngine pytorch/module/grouped_linear.py _GroupedLinear.backward (0069563)',
      },
    ],
  },
  {
    // The workspace of cuBLAS is repeated for the streams of userbuffers, beside the buffers themselves: its size tells it.
    id: 'te.userbuffer-workspace',
    component: 'workspace',
    sub_component: 'cublas_workspace',
    at: { file: `${TE}/module/base.py`, function: 'initialize_ub' },
    when: { bytes: [100_663_296, 100_666_368, 12_582_912] },
    source:
      'TransformerEngine pytorch/module/base.py initialize_ub repeats get_workspace() by _NUM_MAX_UB_STREAMS (fecb10b)',
    samples: [
      {
        frames: source(
          'initialize_ub te/module/base.py',
          '_initialize_tp_communicators training/initialize.py',
          'initialize_megatron training/initialize.py',
          'pretrain training/training.py',
          '<module> pretrain_gpt.py',
        ),
        bytes: 100_663_296,
        from: 'TransformerEngine pytorch/module/base.py initialize_ub (fecb10b)',
      },
    ],
  },
  {
    id: 'te.userbuffers',
    component: 'communication',
    sub_component: 'userbuffers',
    at: [
      {
        file: `${TE}/module/base.py`,
        function: [
          'initialize_ub',
          'add_ub',
          'alloc_copy_allgather_callback',
          'fill_userbuffers_buffer_for_all_gather',
        ],
      },
      {
        file: ['megatron/training/initialize.py', 'bridge/training/initialize.py'],
        function: '_initialize_tp_communicators',
      },
    ],
    source: 'TransformerEngine pytorch/module/base.py initialize_ub, add_ub (fecb10b)',
    samples: [
      {
        frames: source(
          'add_ub te/module/base.py',
          'initialize_ub te/module/base.py',
          '_initialize_tp_communicators training/initialize.py',
          'initialize_megatron training/initialize.py',
          'pretrain training/training.py',
          '<module> pretrain_gpt.py',
        ),
        bytes: 67_108_864,
        lifetime: 'resident',
        from: 'TransformerEngine pytorch/module/base.py initialize_ub.add_ub (0004dbd, fecb10b)',
      },
      {
        frames: submodule(
          'initialize_ub.<locals>.alloc_copy_allgather_callback te/module/base.py',
          'initialize_ub.<locals>.add_ub te/module/base.py',
          'initialize_ub te/module/base.py',
          '_initialize_tp_communicators bridge/training/initialize.py',
          'initialize_megatron bridge/training/initialize.py',
          'setup bridge/training/setup.py',
        ),
        from: 'TransformerEngine pytorch/module/base.py alloc_copy_allgather_callback (fecb10b)',
      },
    ],
  },
  {
    // Never read: it stands in for a gradient that was added to main_grad already.
    id: 'te.dummy-wgrad',
    component: 'workspace',
    sub_component: 'dummy_wgrad',
    at: [
      { file: `${TE}/module/base.py`, function: 'get_dummy_wgrad' },
      { file: MODULES, function: 'handle_custom_ddp_from_mcore' },
    ],
    source:
      'Megatron-LM core/tensor_parallel/layers.py calls get_dummy_wgrad (000c4ac); TransformerEngine pytorch/module/grouped_linear.py handle_custom_ddp_from_mcore (0069563)',
    samples: [
      {
        frames: source(
          'get_dummy_wgrad te/module/base.py',
          'backward core/tensor_parallel/layers.py',
          'decorate_bwd torch/amp/autocast_mode.py',
          'apply',
        ),
        phase: 'backward',
        from: 'Megatron-LM core/tensor_parallel/layers.py LinearWithGradAccumulationAndAsyncCommunication.backward (000c4ac)',
      },
      {
        frames: wheel(
          'handle_custom_ddp_from_mcore te/module/grouped_linear.py',
          '<listcomp> te/module/grouped_linear.py',
          'backward te/module/grouped_linear.py',
          'apply',
        ),
        phase: 'backward',
        from: 'TransformerEngine pytorch/module/grouped_linear.py _GroupedLinear.backward (0069563)',
      },
    ],
  },
];

export const TRANSFORMER_ENGINE_OWNERS: readonly AttributionRule[] = [...STATE_OWNERS, ...MODULE_OWNERS];

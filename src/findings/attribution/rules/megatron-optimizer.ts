/** What Megatron's optimizers allocate: main parameters, moments, copies of gradients, norms, and what is kept on the host. */
import type { AttributionRule } from '../match/rule.js';
import {
  GET_OPTIMIZER,
  LOAD,
  OPTIMIZER_STEP,
  PRETRAIN,
  READY_GRADS,
  source,
  submodule,
  TRAIN_STEP,
  wheel,
} from './megatron-stacks.js';

const DISTRIBUTED = 'core/optimizer/distrib_optimizer.py';
const OPTIMIZER = 'core/optimizer/optimizer.py';
const HYBRID = 'core/optimizer/cpu_offloading/hybrid_optimizer.py';
const OFFLOADER = 'core/optimizer/cpu_offloading/optimizer_state_offloader.py';
const NO_GRAD = 'decorate_context torch/utils/_contextlib.py';
const TORCH_STEP = 'wrapper torch/optim/optimizer.py';

export const OPTIMIZER_OWNERS: readonly AttributionRule[] = [
  {
    id: 'mcore.distributed-main-params',
    component: 'optimizer_state',
    sub_component: 'master_param',
    at: { file: DISTRIBUTED, function: '_build_model_and_main_param_groups' },
    phase: 'optimizer_build',
    source: `Megatron-LM ${DISTRIBUTED} DistributedOptimizer._build_model_and_main_param_groups (0011998)`,
    samples: [
      {
        frames: source(`_build_model_and_main_param_groups ${DISTRIBUTED}`, `__init__ ${DISTRIBUTED}`, GET_OPTIMIZER),
        lifetime: 'resident',
        from: `Megatron-LM ${DISTRIBUTED} DistributedOptimizer.__init__ (0011998)`,
      },
      {
        frames: submodule(
          `DistributedOptimizer._build_model_and_main_param_groups ${DISTRIBUTED}`,
          `DistributedOptimizer.__init__ ${DISTRIBUTED}`,
          '_get_megatron_optimizer_based_on_param_groups core/optimizer/__init__.py',
          'get_megatron_optimizer core/optimizer/__init__.py',
          'setup_optimizer bridge/training/optim.py',
          'setup bridge/training/setup.py',
          '_pretrain bridge/training/pretrain.py',
        ),
        phase: 'optimizer_build',
        from: `Megatron-LM ${DISTRIBUTED} (0011998); Bridge training/setup.py setup_optimizer (004b734)`,
      },
    ],
  },
  {
    id: 'mcore.float16-main-params',
    component: 'optimizer_state',
    sub_component: 'master_param',
    at: { file: OPTIMIZER, function: 'Float16OptimizerWithFloat16Params.__init__' },
    phase: 'optimizer_build',
    source: `Megatron-LM ${OPTIMIZER} Float16OptimizerWithFloat16Params.__init__ (0011998)`,
    samples: [
      {
        frames: source(`__init__ ${OPTIMIZER}`, GET_OPTIMIZER),
        lifetime: 'resident',
        from: `Megatron-LM ${OPTIMIZER} Float16OptimizerWithFloat16Params.__init__ (0011998)`,
      },
      {
        frames: submodule(
          `Float16OptimizerWithFloat16Params.__init__ ${OPTIMIZER}`,
          'get_megatron_muon_optimizer core/optimizer/muon.py',
          'setup_optimizer bridge/training/optim.py',
          'setup bridge/training/setup.py',
        ),
        from: 'Megatron-LM core/optimizer/muon.py get_megatron_muon_optimizer (025c931)',
      },
    ],
  },
  {
    // The copy goes into what is there: what it allocates is the cast.
    id: 'mcore.main-param-copy',
    component: 'temporary',
    sub_component: 'param_copy',
    at: {
      file: [DISTRIBUTED, OPTIMIZER],
      function: [
        '_copy_model_params_to_main_params',
        '_copy_main_params_to_model_params',
        '_copy_main_params_to_param_buffer',
        '_unscale_main_grads_and_check_for_nan',
      ],
    },
    source: `Megatron-LM ${DISTRIBUTED} _copy_main_params_to_model_params (0011998)`,
    samples: [
      {
        frames: source(
          'quantize_param_shard core/fp8_utils.py',
          `_copy_main_params_to_model_params ${DISTRIBUTED}`,
          READY_GRADS.slice(2),
        ),
        phase: 'optimizer_step',
        from: `Megatron-LM ${DISTRIBUTED} _copy_main_params_to_model_params with fp8_param_gather (0011998)`,
      },
      {
        frames: wheel(
          'copy_group_params core/optimizer/distrib_optimizer.py',
          `_copy_model_params_to_main_params ${DISTRIBUTED}`,
          `reload_model_params ${OPTIMIZER}`,
          LOAD,
        ),
        phase: 'checkpoint_load',
        from: `Megatron-LM ${OPTIMIZER} MixedPrecisionOptimizer.reload_model_params (0011998)`,
      },
    ],
  },
  {
    id: 'mcore.main-grad-copy',
    component: 'gradient',
    sub_component: 'main_grad_copy',
    at: { file: [DISTRIBUTED, OPTIMIZER], function: '_copy_model_grads_to_main_grads' },
    source: `Megatron-LM ${DISTRIBUTED} _copy_model_grads_to_main_grads (0011998)`,
    samples: [
      {
        frames: source(
          `copy_group_grads ${DISTRIBUTED}`,
          `_copy_model_grads_to_main_grads ${DISTRIBUTED}`,
          `prepare_grads ${OPTIMIZER}`,
          NO_GRAD,
          OPTIMIZER_STEP,
        ),
        phase: 'optimizer_step',
        from: `Megatron-LM ${DISTRIBUTED} _copy_model_grads_to_main_grads.copy_group_grads (0011998)`,
      },
      {
        frames: wheel(
          `_copy_model_grads_to_main_grads ${OPTIMIZER}`,
          `prepare_grads ${OPTIMIZER}`,
          NO_GRAD,
          OPTIMIZER_STEP,
        ),
        from: `Megatron-LM ${OPTIMIZER} MixedPrecisionOptimizer.prepare_grads (0011998)`,
      },
    ],
  },
  {
    // exp_avg first, then exp_avg_sq, from one line; with the same sizes.
    id: 'mcore.init-state',
    component: 'optimizer_state',
    sub_component: 'moments',
    at: { file: 'core/optimizer/__init__.py', function: 'init_state_fn' },
    source:
      'Megatron-LM core/optimizer/__init__.py init_state_fn, called by distrib_optimizer.py _init_optimizer_states_with_dummy_values',
    samples: [
      {
        frames: source('init_state_fn core/optimizer/__init__.py', `load_state_dict ${DISTRIBUTED}`, LOAD),
        from: 'Megatron-LM core/optimizer/__init__.py init_state_fn (not read)',
      },
    ],
  },
  {
    id: 'mcore.dummy-state',
    component: 'optimizer_state',
    sub_component: 'dummy_init',
    at: { file: DISTRIBUTED, function: ['_init_optimizer_states_with_dummy_values', 'init_state_fn'] },
    source: `Megatron-LM ${DISTRIBUTED} _init_optimizer_states_with_dummy_values (megatron.md 5.2)`,
    samples: [
      {
        frames: source(
          `_init_optimizer_states_with_dummy_values ${DISTRIBUTED}`,
          `sharded_state_dict ${DISTRIBUTED}`,
          'sharded_state_dict core/optimizer/optimizer.py',
          'generate_state_dict training/checkpointing.py',
          LOAD,
        ),
        phase: 'checkpoint_load',
        from: `Megatron-LM ${DISTRIBUTED} _init_optimizer_states_with_dummy_values (not read)`,
      },
    ],
  },
  {
    id: 'mcore.loaded-state',
    component: 'optimizer_state',
    sub_component: 'loaded_state',
    at: {
      file: [DISTRIBUTED, OPTIMIZER, 'core/optimizer/layer_wise_optimizer.py'],
      function: ['load_state_dict', 'load_parameter_state*', 'restore_from_cpu'],
    },
    source: `Megatron-LM ${DISTRIBUTED} load_state_dict, ${OPTIMIZER} MegatronOptimizer.restore_from_cpu (0011998)`,
    samples: [
      {
        frames: source(
          `<lambda> ${DISTRIBUTED}`,
          `<listcomp> ${DISTRIBUTED}`,
          `load_state_dict ${DISTRIBUTED}`,
          `load_state_dict ${OPTIMIZER}`,
          LOAD,
        ),
        lifetime: 'resident',
        phase: 'checkpoint_load',
        from: `Megatron-LM ${DISTRIBUTED} DistributedOptimizer.load_state_dict (not read in this part)`,
      },
      {
        frames: source(`restore_from_cpu ${OPTIMIZER}`, 'train training/training.py', PRETRAIN),
        from: `Megatron-LM ${OPTIMIZER} MegatronOptimizer.restore_from_cpu (0011998)`,
      },
    ],
  },
  {
    // Rank by rank, where each owns whole parameters: flattened and gathered outside of the buffers.
    id: 'mcore.layer-wise-param-gather',
    component: 'communication',
    sub_component: 'param_all_gather',
    at: {
      file: 'core/optimizer/layer_wise_optimizer.py',
      function: ['allgather_params', '_allgather_helper', 'broadcast_params'],
    },
    phase: 'param_gather',
    source:
      'Megatron-LM core/optimizer/layer_wise_optimizer.py allgather_params (stored files 54573470098, 53233455703)',
    samples: [
      {
        frames: source(
          '_flatten_dense_tensors torch/_utils.py',
          '_allgather_helper core/optimizer/layer_wise_optimizer.py',
          'allgather_params core/optimizer/layer_wise_optimizer.py',
          NO_GRAD,
          'step core/optimizer/layer_wise_optimizer.py',
          TRAIN_STEP,
        ),
        lifetime: 'transient',
        phase: 'param_gather',
        from: 'Megatron-LM core/optimizer/layer_wise_optimizer.py LayerWiseDistributedOptimizer.allgather_params (stored file 53233455703)',
      },
    ],
  },
  {
    id: 'mcore.emerging-optimizer',
    component: 'optimizer_state',
    sub_component: 'momentum',
    at: [
      {
        file: [
          'core/optimizer/muon.py',
          'core/optimizer/emerging_optimizers.py',
          'core/optimizer/layer_wise_optimizer.py',
        ],
      },
      { file: 'emerging_optimizers/**', function: ['step', '_init_group', '_initialize_state*'] },
    ],
    without: { function: 'get_megatron_optimizer' },
    when: { lifetime: 'resident' },
    source: 'Megatron-LM core/optimizer/muon.py TensorParallelMuon (025c931)',
    samples: [
      {
        frames: source(
          '_init_group emerging_optimizers/orthogonalized_optimizers/orthogonalized_optimizer.py',
          'step emerging_optimizers/orthogonalized_optimizers/orthogonalized_optimizer.py',
          TORCH_STEP,
          `step_with_ready_grads ${OPTIMIZER}`,
          NO_GRAD,
          'step core/optimizer/layer_wise_optimizer.py',
          TRAIN_STEP,
        ),
        lifetime: 'resident',
        from: 'Megatron-LM core/optimizer/muon.py TensorParallelMuon, a subclass of Emerging-Optimizers orthogonalized_optimizer.py (not read)',
      },
    ],
  },
  {
    id: 'mcore.emerging-optimizer-update',
    component: 'temporary',
    sub_component: 'orthogonalization',
    at: [
      {
        file: [
          'core/optimizer/muon.py',
          'core/optimizer/emerging_optimizers.py',
          'core/optimizer/layer_wise_optimizer.py',
        ],
      },
      { file: 'emerging_optimizers/**' },
    ],
    without: { function: 'get_megatron_optimizer' },
    source: 'Megatron-LM core/optimizer/muon.py TensorParallelMuon (025c931)',
    samples: [
      {
        frames: source(
          'newton_schulz_tp emerging_optimizers/orthogonalized_optimizers/muon_utils.py',
          'scaled_orthogonalize_fn core/optimizer/muon.py',
          'orthogonalize core/optimizer/muon.py',
          'step emerging_optimizers/orthogonalized_optimizers/orthogonalized_optimizer.py',
          TORCH_STEP,
          `step_with_ready_grads ${OPTIMIZER}`,
          NO_GRAD,
          OPTIMIZER_STEP,
        ),
        lifetime: 'transient',
        phase: 'optimizer_step',
        from: 'Megatron-LM core/optimizer/muon.py TensorParallelMuon.orthogonalize (025c931)',
      },
    ],
  },
  {
    id: 'mcore.grad-norm',
    component: 'temporary',
    sub_component: 'grad_norm',
    at: { file: 'core/optimizer/clip_grads.py' },
    source:
      'Megatron-LM core/optimizer/clip_grads.py get_grad_norm_fp32, clip_grad_by_total_norm_fp32, count_zeros_fp32 (0293807)',
    samples: [
      {
        frames: source(
          '__call__ te/optimizers/multi_tensor_apply.py',
          'get_grad_norm_fp32 core/optimizer/clip_grads.py',
          `get_grad_norm ${OPTIMIZER}`,
          NO_GRAD,
          'step core/optimizer/optimizer.py',
          NO_GRAD,
          TRAIN_STEP,
        ),
        phase: 'optimizer_step',
        from: 'Megatron-LM core/optimizer/clip_grads.py get_grad_norm_fp32 (0293807)',
      },
      {
        frames: wheel('count_zeros_fp32 core/optimizer/clip_grads.py', `count_zeros ${OPTIMIZER}`, OPTIMIZER_STEP),
        from: 'Megatron-LM core/optimizer/clip_grads.py count_zeros_fp32 (0293807)',
      },
    ],
  },
  {
    // The share that stays on the device: its fp32 main parameters outlive the step, the clones on their way to the host do not.
    id: 'mcore.hybrid-main-params',
    component: 'optimizer_state',
    sub_component: 'master_param',
    at: {
      file: HYBRID,
      function: [
        '_get_sub_optimizer_param_groups',
        '_move_new_state_to_right_device',
        '_update_fp32_params_by_new_state',
      ],
    },
    when: { lifetime: 'resident' },
    source: `Megatron-LM ${HYBRID} HybridDeviceOptimizer._get_sub_optimizer_param_groups (0d41ecd)`,
    samples: [
      {
        frames: source(
          `_get_sub_optimizer_param_groups ${HYBRID}`,
          `_init_sub_optimizers ${HYBRID}`,
          `__init__ ${HYBRID}`,
          `__init__ ${DISTRIBUTED}`,
          GET_OPTIMIZER,
        ),
        lifetime: 'resident',
        phase: 'optimizer_build',
        from: `Megatron-LM ${HYBRID} _get_sub_optimizer_param_groups (0d41ecd); ${DISTRIBUTED} __init__ (0011998)`,
      },
    ],
  },
  {
    id: 'mcore.optimizer-offload',
    component: 'offload_buffer',
    sub_component: 'optimizer_offload',
    at: { file: HYBRID },
    without: [
      {
        file: [
          'transformer_engine/pytorch/optimizers/**',
          'torch/optim/adam.py',
          'torch/optim/adamw.py',
          'apex/optimizers/**',
        ],
      },
    ],
    source: `Megatron-LM ${HYBRID} HybridDeviceOptimizer._set_sub_optimizer_grads (0d41ecd)`,
    samples: [
      {
        frames: source(
          `_get_sub_optimizer_param_groups ${HYBRID}`,
          `_init_sub_optimizers ${HYBRID}`,
          `__init__ ${HYBRID}`,
          `__init__ ${DISTRIBUTED}`,
          GET_OPTIMIZER,
        ),
        lifetime: 'transient',
        from: `Megatron-LM ${HYBRID} _get_sub_optimizer_param_groups (0d41ecd)`,
      },
      {
        frames: submodule(
          `HybridDeviceOptimizer._set_sub_optimizer_grads ${HYBRID}`,
          `HybridDeviceOptimizer.step ${HYBRID}`,
          `MixedPrecisionOptimizer.step_with_ready_grads ${OPTIMIZER}`,
          NO_GRAD,
          'train_step bridge/training/train.py',
        ),
        phase: 'optimizer_step',
        from: `Megatron-LM ${HYBRID} _set_sub_optimizer_grads (0d41ecd)`,
      },
    ],
  },
  {
    id: 'mcore.optimizer-state-reload',
    component: 'optimizer_state',
    sub_component: 'reloaded_state',
    at: { file: OFFLOADER },
    source: `Megatron-LM ${OFFLOADER} OptimizerStateOffloader._reload_states (00d5225)`,
    samples: [
      {
        frames: source(
          `_reload_states ${OFFLOADER}`,
          `reload ${OFFLOADER}`,
          `sync_before_step ${OFFLOADER}`,
          `step_with_ready_grads ${DISTRIBUTED}`,
          NO_GRAD,
          OPTIMIZER_STEP,
        ),
        phase: 'optimizer_step',
        from: `Megatron-LM ${OFFLOADER} reload (00d5225)`,
      },
    ],
  },
];

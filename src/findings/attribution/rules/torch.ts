/** PyTorch itself: optimizers, gradient buckets, workspaces, graph pools, checkpoints. What any program's modules keep is in `generic.ts`. */
import type { AttributionRule } from '../match/rule.js';
import { CONDA, DIST, moduleCall, optimizerStep, SCRIPT, VENV } from './sample-tails.js';
import { TORCH_NATIVE_LAYERS, TORCH_NATIVE_OWNERS } from './torch-native.js';
import { TORCH_PARALLEL_OWNERS } from './torch-parallel.js';

const READ = 'torch 2.13.0 and 2.14.1 wheels';
/** Trainers that hand the forward pass to `step` as a closure run the whole model below it. */
const CLOSURE = { function: ['closure', '_wrap_closure'] };
const STEP_PARTS = ['_single_tensor_*', '_multi_tensor_*', '_fused_*', '_foreach_*', '_zeropower_via_newtonschulz'];
/** apex took the place of torch's own before there were fused ones. */
const OPTIMIZERS = [
  'torch/optim/*.py',
  'torch/optim/_multi_tensor/*.py',
  'apex/optimizers/*.py',
  'apex/contrib/optimizers/*.py',
  'torchao/optim/*.py',
  'torchao/prototype/low_bit_optim/*.py',
  'transformers/optimization.py',
  'bitsandbytes/optim/*.py',
];

const FUSED_OPTIMIZERS = [
  'apex/optimizers/*.py',
  'deepspeed/ops/adam/*.py',
  'deepspeed/ops/lamb/*.py',
  'deepspeed/ops/lion/*.py',
];

const ADAM_TAIL = [
  `adam ${CONDA}/torch/optim/adam.py`,
  `maybe_fallback ${CONDA}/torch/optim/optimizer.py`,
  `step ${CONDA}/torch/optim/adam.py`,
  ...optimizerStep(CONDA),
  ...SCRIPT,
];

export const TORCH_OWNERS: readonly AttributionRule[] = [
  {
    id: 'torch.optimizer-state',
    component: 'optimizer_state',
    sub_component: 'moments',
    at: {
      file: ['torch/optim/*.py', 'torchao/optim/*.py'],
      function: ['_init_group', '_new_buffer'],
    },
    source: `torch/optim/adam.py Adam._init_group, ${READ}`,
    samples: [
      {
        frames: [
          `_init_group ${CONDA}/torch/optim/adam.py`,
          `step ${CONDA}/torch/optim/adam.py`,
          ...optimizerStep(CONDA),
          ...SCRIPT,
        ],
        from: `torch/optim/adam.py Adam._init_group (AdamW since 2.6 too), ${READ}`,
        phase: 'optimizer_step',
      },
    ],
  },
  {
    id: 'torch.loaded-optimizer-state',
    component: 'optimizer_state',
    sub_component: 'moments',
    at: { file: 'torch/optim/optimizer.py', function: ['_process_value_according_to_param_policy', 'load_state_dict'] },
    // Megatron's and Transformer Engine's optimizers load through this too, and know more.
    without: { file: ['megatron/**', 'transformer_engine/**'] },
    source: `torch/optim/optimizer.py Optimizer._process_value_according_to_param_policy, ${READ}`,
    samples: [
      {
        frames: [
          `_process_value_according_to_param_policy ${VENV}/torch/optim/optimizer.py`,
          `_cast ${VENV}/torch/optim/optimizer.py`,
          `<dictcomp> ${VENV}/torch/optim/optimizer.py`,
          `_cast ${VENV}/torch/optim/optimizer.py`,
          `load_state_dict ${VENV}/torch/optim/optimizer.py`,
          `_fn ${VENV}/torch/_compile.py`,
          'resume /home/user/project/train.py',
          ...SCRIPT,
        ],
        from: `torch/optim/optimizer.py Optimizer.load_state_dict, ${READ}`,
        phase: 'checkpoint_load',
      },
    ],
  },
  {
    id: 'torch.momentum-buffer',
    component: 'optimizer_state',
    sub_component: 'momentum_buffer',
    at: { file: OPTIMIZERS, function: STEP_PARTS },
    when: { lifetime: 'resident' },
    phase: 'optimizer_step',
    source: `torch/optim/sgd.py _multi_tensor_sgd, _fused_sgd, ${READ}`,
    samples: [
      {
        frames: [
          `_multi_tensor_sgd ${DIST}/torch/optim/sgd.py`,
          `sgd ${DIST}/torch/optim/sgd.py`,
          `maybe_fallback ${DIST}/torch/optim/optimizer.py`,
          `step ${DIST}/torch/optim/sgd.py`,
          ...optimizerStep(DIST),
          ...SCRIPT,
        ],
        from: `torch/optim/sgd.py _multi_tensor_sgd (the first step clones the gradients), ${READ}`,
        lifetime: 'resident',
      },
    ],
  },
  {
    id: 'torch.optimizer-temporary',
    component: 'temporary',
    sub_component: 'optimizer_step_temporary',
    at: { file: OPTIMIZERS, function: STEP_PARTS },
    phase: 'optimizer_step',
    source: `torch/optim/adam.py _multi_tensor_adam (_foreach_sqrt, _foreach_mul), ${READ}`,
    samples: [
      {
        frames: [`_multi_tensor_adam ${CONDA}/torch/optim/adam.py`, ...ADAM_TAIL],
        from: `torch/optim/adam.py _multi_tensor_adam, ${READ}`,
        lifetime: 'transient',
      },
      {
        frames: [
          `_single_tensor_adafactor ${VENV}/torch/optim/_adafactor.py`,
          `adafactor ${VENV}/torch/optim/_adafactor.py`,
          `maybe_fallback ${VENV}/torch/optim/optimizer.py`,
          `step ${VENV}/torch/optim/_adafactor.py`,
          ...optimizerStep(VENV),
          ...SCRIPT,
        ],
        from: `torch/optim/_adafactor.py _single_tensor_adafactor, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.fused-optimizer-temporary',
    component: 'temporary',
    sub_component: 'optimizer_step_temporary',
    at: { file: FUSED_OPTIMIZERS, function: 'step' },
    without: CLOSURE,
    when: { lifetime: 'transient' },
    phase: 'optimizer_step',
    source: 'apex/optimizers/fused_adam.py FusedAdam.step, apex 004da4e',
    samples: [
      {
        frames: [
          `step ${CONDA}/deepspeed/ops/adam/fused_adam.py`,
          `wrapper ${CONDA}/torch/optim/optimizer.py`,
          `_optimizer_step ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `step ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `_take_model_step ${CONDA}/deepspeed/runtime/engine.py`,
          `step ${CONDA}/deepspeed/runtime/engine.py`,
          ...SCRIPT,
        ],
        from: 'deepspeed/ops/adam/fused_adam.py FusedAdam.step, DeepSpeed 839f091',
        lifetime: 'transient',
      },
    ],
  },
  {
    // They update in one kernel, without temporaries: what `step` makes is state, unless it is known to be gone with the step.
    id: 'torch.fused-optimizer-state',
    component: 'optimizer_state',
    sub_component: 'moments',
    at: { file: FUSED_OPTIMIZERS, function: 'step' },
    without: CLOSURE,
    phase: 'optimizer_step',
    source: 'apex/optimizers/fused_adam.py FusedAdam.step, apex 004da4e',
    samples: [
      {
        frames: [`step ${DIST}/apex/optimizers/fused_adam.py`, `wrapper ${DIST}/torch/optim/optimizer.py`, ...SCRIPT],
        from: 'apex/optimizers/fused_adam.py FusedAdam.step (exp_avg, exp_avg_sq), apex 004da4e',
        phase: 'optimizer_step',
      },
    ],
  },
  {
    id: 'torch.optimizer-step-state',
    component: 'optimizer_state',
    sub_component: 'moments',
    at: { file: OPTIMIZERS, function: 'step' },
    without: CLOSURE,
    when: { lifetime: 'resident' },
    phase: 'optimizer_step',
    source: `torch/optim/lbfgs.py LBFGS.step, ${READ}; AdamW.step of torch 1.x (not read)`,
    samples: [
      {
        frames: [`step ${CONDA}/torch/optim/lbfgs.py`, ...optimizerStep(CONDA), ...SCRIPT],
        from: `torch/optim/lbfgs.py LBFGS.step (its direction and history), ${READ}`,
        lifetime: 'resident',
      },
    ],
  },
  {
    id: 'torch.optimizer-step-temporary',
    component: 'temporary',
    sub_component: 'optimizer_step_temporary',
    at: { file: OPTIMIZERS, function: ['step', 'update_step'] },
    without: CLOSURE,
    phase: 'optimizer_step',
    source: `torch/optim/adam.py Adam.step, ${READ}; bitsandbytes/optim/optimizer.py update_step, bitsandbytes 06029dd`,
    samples: [
      {
        frames: [
          `update_step ${DIST}/bitsandbytes/optim/optimizer.py`,
          `decorate_context ${DIST}/torch/utils/_contextlib.py`,
          `step ${DIST}/bitsandbytes/optim/optimizer.py`,
          `decorate_context ${DIST}/torch/utils/_contextlib.py`,
          `wrapper ${DIST}/torch/optim/optimizer.py`,
          ...SCRIPT,
        ],
        from: 'bitsandbytes/optim/optimizer.py Optimizer2State.update_step, bitsandbytes 06029dd',
      },
    ],
  },
  {
    id: 'torch.grad-norm',
    component: 'temporary',
    sub_component: 'grad_norm',
    at: [
      { file: 'torch/nn/utils/clip_grad.py' },
      {
        file: 'torch/distributed/fsdp/fully_sharded_data_parallel.py',
        function: ['clip_grad_norm_', '_get_grad_norm'],
      },
    ],
    phase: 'optimizer_step',
    source: `torch/nn/utils/clip_grad.py _get_total_norm, _clip_grads_with_norm_, ${READ}`,
    samples: [
      {
        frames: [
          `_get_total_norm ${CONDA}/torch/nn/utils/clip_grad.py`,
          `_no_grad_wrapper ${CONDA}/torch/nn/utils/clip_grad.py`,
          `clip_grad_norm_ ${CONDA}/torch/nn/utils/clip_grad.py`,
          `_no_grad_wrapper ${CONDA}/torch/nn/utils/clip_grad.py`,
          `clip_grad_norm_ ${CONDA}/accelerate/accelerator.py`,
          ...SCRIPT,
        ],
        from: `torch/nn/utils/clip_grad.py _get_total_norm, ${READ}`,
      },
      {
        frames: [
          `_get_grad_norm ${VENV}/torch/distributed/fsdp/fully_sharded_data_parallel.py`,
          `clip_grad_norm_ ${VENV}/torch/distributed/fsdp/fully_sharded_data_parallel.py`,
          `decorate_context ${VENV}/torch/utils/_contextlib.py`,
          ...SCRIPT,
        ],
        from: `torch/distributed/fsdp/fully_sharded_data_parallel.py clip_grad_norm_, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.grad-scaler',
    component: 'temporary',
    sub_component: 'grad_scaler',
    at: {
      file: [
        'torch/amp/grad_scaler.py',
        'torch/cuda/amp/grad_scaler.py',
        'torch/distributed/fsdp/sharded_grad_scaler.py',
      ],
      function: [
        '_unscale_grads_',
        'unscale_',
        '_lazy_init_scale_growth_tracker',
        'scale',
        'apply_scale',
        'update',
        '_check_inf_per_device',
        'get',
      ],
    },
    source: `torch/amp/grad_scaler.py GradScaler._unscale_grads_, _lazy_init_scale_growth_tracker, ${READ}`,
    samples: [
      {
        frames: [
          `_unscale_grads_ ${DIST}/torch/amp/grad_scaler.py`,
          `unscale_ ${DIST}/torch/amp/grad_scaler.py`,
          `step ${DIST}/torch/amp/grad_scaler.py`,
          ...SCRIPT,
        ],
        from: `torch/amp/grad_scaler.py GradScaler._unscale_grads_, ${READ}`,
        phase: 'optimizer_step',
      },
    ],
  },
  {
    id: 'torch.saved-on-cpu',
    component: 'offload_buffer',
    sub_component: 'activation_reload',
    at: { file: 'torch/autograd/graph.py', function: ['unpack_from_cpu', 'pack_to_cpu'] },
    source: `torch/autograd/graph.py save_on_cpu, ${READ}`,
    samples: [
      {
        frames: [`unpack_from_cpu ${CONDA}/torch/autograd/graph.py`],
        from: `torch/autograd/graph.py save_on_cpu.unpack_from_cpu, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.serialization',
    component: 'checkpoint',
    sub_component: 'serialized',
    at: [
      { file: 'torch/serialization.py' },
      { file: 'torch/storage.py', function: ['_load_from_bytes', '__reduce__'] },
      { file: ['safetensors/torch.py'], function: ['load', 'load_file', 'save', 'save_file', '_tobytes'] },
    ],
    source: `torch/serialization.py load, default_restore_location, ${READ}; safetensors/torch.py (not read)`,
    samples: [
      {
        frames: [
          `_deserialize ${VENV}/torch/serialization.py`,
          `default_restore_location ${VENV}/torch/serialization.py`,
          `restore_location ${VENV}/torch/serialization.py`,
          `load_tensor ${VENV}/torch/serialization.py`,
          `persistent_load ${VENV}/torch/serialization.py`,
          `_load ${VENV}/torch/serialization.py`,
          `load ${VENV}/torch/serialization.py`,
          ...SCRIPT,
        ],
        from: `torch/serialization.py load (map_location), ${READ}`,
        phase: 'checkpoint_load',
      },
    ],
  },
  {
    id: 'torch.data-loader',
    component: 'input',
    sub_component: 'batch',
    at: { file: ['torch/utils/data/**', 'torchdata/**', 'torchvision/datasets/**', 'torchvision/transforms/**'] },
    source: `torch/utils/data/_utils/collate.py default_collate, ${READ}`,
    samples: [
      {
        frames: [
          `collate_tensor_fn ${CONDA}/torch/utils/data/_utils/collate.py`,
          `collate ${CONDA}/torch/utils/data/_utils/collate.py`,
          `default_collate ${CONDA}/torch/utils/data/_utils/collate.py`,
          `fetch ${CONDA}/torch/utils/data/_utils/fetch.py`,
          `_next_data ${CONDA}/torch/utils/data/dataloader.py`,
          `__next__ ${CONDA}/torch/utils/data/dataloader.py`,
          ...SCRIPT,
        ],
        from: `torch/utils/data/_utils/collate.py collate_tensor_fn, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.autotune',
    component: 'workspace',
    sub_component: 'autotune',
    at: [
      { file: 'triton/testing.py', function: ['do_bench', 'do_bench_cudagraph'] },
      { file: 'triton/runtime/autotuner.py', function: ['_bench', 'benchmark', 'run'] },
      {
        file: 'torch/_inductor/runtime/triton_heuristics.py',
        function: ['bench', 'benchmark_all_configs', 'clone_args', 'maybe_clone_args', 'autotune_to_one_config'],
      },
      {
        file: [
          'torch/_inductor/runtime/benchmarking.py',
          'torch/_inductor/autotune_process.py',
          'torch/_inductor/select_algorithm.py',
        ],
        function: ['benchmark*', 'do_bench', 'autotune'],
      },
    ],
    source: `torch/_inductor/runtime/triton_heuristics.py CachingAutotuner.bench, benchmark_all_configs, ${READ}; triton/testing.py do_bench (called there)`,
    samples: [
      {
        frames: [
          `clone_args ${VENV}/torch/_inductor/runtime/triton_heuristics.py`,
          `bench ${VENV}/torch/_inductor/runtime/triton_heuristics.py`,
          `benchmark_all_configs ${VENV}/torch/_inductor/runtime/triton_heuristics.py`,
          `autotune_to_one_config ${VENV}/torch/_inductor/runtime/triton_heuristics.py`,
          `run ${VENV}/torch/_inductor/runtime/triton_heuristics.py`,
          'call /tmp/torchinductor_user/ab/cabcdefghijkl.py',
          'forward /home/user/project/model.py',
          ...SCRIPT,
        ],
        from: `torch/_inductor/runtime/triton_heuristics.py CachingAutotuner.clone_args, ${READ}`,
      },
    ],
  },
  ...TORCH_PARALLEL_OWNERS,
  ...TORCH_NATIVE_OWNERS,
];

export const TORCH_LAYERS: readonly AttributionRule[] = [
  {
    id: 'torch.module-parameter',
    component: 'parameter',
    sub_component: 'module_init',
    at: {
      file: ['torch/nn/modules/*.py', 'torch/nn/parameter.py'],
      function: ['__init__', 'reset_parameters', '__deepcopy__', 'materialize', '__new__'],
    },
    phase: 'model_build',
    source: `torch/nn/modules/linear.py Linear.__init__; torch/nn/parameter.py Parameter.__deepcopy__, ${READ}`,
    samples: [
      {
        frames: [`__init__ ${CONDA}/torch/nn/modules/linear.py`, '__init__ /home/user/project/model.py', ...SCRIPT],
        from: `torch/nn/modules/linear.py Linear.__init__ (device given, or a default device set), ${READ}`,
      },
      {
        frames: [
          `__deepcopy__ ${DIST}/torch/nn/parameter.py`,
          'deepcopy /usr/lib/python3.12/copy.py',
          '_deepcopy_dict /usr/lib/python3.12/copy.py',
          '_reconstruct /usr/lib/python3.12/copy.py',
          'deepcopy /usr/lib/python3.12/copy.py',
          `__init__ ${DIST}/torch/optim/swa_utils.py`,
          ...SCRIPT,
        ],
        from: `torch/nn/parameter.py Parameter.__deepcopy__, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.module-to-device',
    component: 'parameter',
    sub_component: 'module_to_device',
    at: { file: 'torch/nn/modules/module.py', function: ['convert', '_apply', 'to_empty'] },
    phase: 'model_build',
    source: `torch/nn/modules/module.py Module.to, Module._apply, ${READ}`,
    samples: [
      {
        frames: [
          `convert ${VENV}/torch/nn/modules/module.py`,
          `_apply ${VENV}/torch/nn/modules/module.py`,
          `_apply ${VENV}/torch/nn/modules/module.py`,
          `to ${VENV}/torch/nn/modules/module.py`,
          ...SCRIPT,
        ],
        from: `torch/nn/modules/module.py Module.to, ${READ}`,
      },
      {
        frames: [
          `<lambda> ${CONDA}/torch/nn/modules/module.py`,
          `_apply ${CONDA}/torch/nn/modules/module.py`,
          `_apply ${CONDA}/torch/nn/modules/module.py`,
          `cuda ${CONDA}/torch/nn/modules/module.py`,
          ...SCRIPT,
        ],
        from: `torch/nn/modules/module.py Module.cuda, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.loss',
    component: 'logits_loss',
    sub_component: 'loss',
    at: [
      {
        file: 'torch/nn/functional.py',
        function: ['cross_entropy', 'nll_loss', 'binary_cross_entropy*', 'kl_div', 'ctc_loss', '*_loss'],
      },
      { file: ['torch/nn/modules/loss.py', 'torch/distributed/tensor/parallel/loss.py'] },
    ],
    source: `torch/nn/functional.py cross_entropy, torch/nn/modules/loss.py, ${READ}`,
    samples: [
      {
        frames: [
          `cross_entropy ${CONDA}/torch/nn/functional.py`,
          `forward ${CONDA}/torch/nn/modules/loss.py`,
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: `torch/nn/functional.py cross_entropy, ${READ}`,
      },
    ],
  },
  ...TORCH_NATIVE_LAYERS,
];

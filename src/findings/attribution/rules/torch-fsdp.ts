/**
 * FSDP1, FSDP2, DTensor and what is trained with them: torchtitan, torchao. Memory is told by the functions that shard, gather and reduce; the module they wrap runs
 * under FSDP's own `forward` or hooks, so that a stack which merely passes through FSDP says nothing of whose memory it is.
 */
import type { AttributionRule } from '../match/rule.js';
import { CONDA, DIST, moduleCall, SCRIPT, VENV } from './sample-tails.js';
import { FSDP1_OWNERS } from './torch-fsdp1.js';

/** Where FSDP2 lives since torch 2.6, and before. */
function fsdp2(file: string): readonly string[] {
  return [`torch/distributed/fsdp/_fully_shard/${file}`, `torch/distributed/_composable/fsdp/${file}`];
}

const READ = 'torch 2.13.0 and 2.14.1 wheels';
const TITAN_TAIL = [
  'forward_backward_step /workspace/torchtitan/torchtitan/train.py',
  'train_step /workspace/torchtitan/torchtitan/train.py',
  'train /workspace/torchtitan/torchtitan/train.py',
  '<module> /workspace/torchtitan/torchtitan/train.py',
];

function fsdp2Forward(packages: string): readonly string[] {
  return [
    `unshard ${packages}/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`,
    `pre_forward ${packages}/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`,
    `_pre_forward ${packages}/torch/distributed/fsdp/_fully_shard/_fsdp_state.py`,
    `_fn ${packages}/torch/_dynamo/eval_frame.py`,
    `wrapper ${packages}/torch/distributed/fsdp/_fully_shard/_fsdp_common.py`,
    `inner ${packages}/torch/nn/modules/module.py`,
    ...moduleCall(packages),
    'forward /workspace/torchtitan/torchtitan/models/llama3/model/model.py',
    ...moduleCall(packages),
    ...TITAN_TAIL,
  ];
}

/** Hooks on autograd nodes run on the engine's thread, where no frame of the trainer is. */
function fsdp2Backward(packages: string): readonly string[] {
  return [
    `post_backward ${packages}/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`,
    `backward ${packages}/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`,
    `apply ${packages}/torch/autograd/function.py`,
  ];
}

const FSDP2_OWNERS: readonly AttributionRule[] = [
  {
    id: 'fsdp.sharded-parameter',
    component: 'parameter',
    sub_component: 'sharded_parameter',
    at: { file: fsdp2('_fsdp_param.py'), function: ['_init_sharded_param', 'reset_sharded_param'] },
    source: `torch/distributed/fsdp/_fully_shard/_fsdp_param.py FSDPParam._init_sharded_param, reset_sharded_param, ${READ}`,
    samples: [
      {
        frames: [
          `_init_sharded_param ${CONDA}/torch/distributed/fsdp/_fully_shard/_fsdp_param.py`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          `__init__ ${CONDA}/torch/distributed/fsdp/_fully_shard/_fsdp_param.py`,
          `<listcomp> ${CONDA}/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`,
          `__init__ ${CONDA}/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`,
          `_init_param_group ${CONDA}/torch/distributed/fsdp/_fully_shard/_fsdp_init.py`,
          `fully_shard ${CONDA}/torch/distributed/fsdp/_fully_shard/_fully_shard.py`,
          `wrapper ${CONDA}/torch/distributed/_composable/contract.py`,
          ...SCRIPT,
        ],
        from: `torch/distributed/fsdp/_fully_shard/_fsdp_param.py _init_sharded_param, ${READ}`,
      },
      {
        frames: [
          `reset_sharded_param ${VENV}/torch/distributed/fsdp/_fully_shard/_fsdp_param.py`,
          `lazy_init ${VENV}/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`,
          `_lazy_init ${VENV}/torch/distributed/fsdp/_fully_shard/_fsdp_state.py`,
          `_root_pre_forward ${VENV}/torch/distributed/fsdp/_fully_shard/_fsdp_state.py`,
          `_pre_forward ${VENV}/torch/distributed/fsdp/_fully_shard/_fsdp_state.py`,
          `inner ${VENV}/torch/nn/modules/module.py`,
          ...moduleCall(VENV),
          ...SCRIPT,
        ],
        from: `torch/distributed/fsdp/_fully_shard/_fsdp_param.py reset_sharded_param, ${READ}`,
      },
    ],
  },
  {
    id: 'fsdp.unsharded-parameter',
    component: 'parameter',
    sub_component: 'unsharded_parameter',
    at: {
      file: fsdp2('_fsdp_param.py'),
      function: [
        'alloc_storage',
        'alloc_all_gather_outputs',
        'init_all_gather_outputs',
        'init_unsharded_param',
        'to_unsharded',
        'to_sharded_post_forward',
      ],
    },
    source: `torch/distributed/fsdp/_fully_shard/_fsdp_param.py alloc_storage, init_all_gather_outputs, ${READ}`,
    samples: [
      {
        frames: [
          `alloc_storage ${DIST}/torch/distributed/fsdp/_fully_shard/_fsdp_param.py`,
          `alloc_all_gather_outputs ${DIST}/torch/distributed/fsdp/_fully_shard/_fsdp_param.py`,
          `foreach_all_gather_copy_out ${DIST}/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py`,
          `decorate_context ${DIST}/torch/utils/_contextlib.py`,
          `wait_for_unshard ${DIST}/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py`,
          ...fsdp2Forward(DIST).slice(1),
        ],
        from: `torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py foreach_all_gather_copy_out, ${READ}`,
      },
      {
        frames: [
          `init_all_gather_outputs ${CONDA}/torch/distributed/_composable/fsdp/_fsdp_param.py`,
          `foreach_all_gather_copy_out ${CONDA}/torch/distributed/_composable/fsdp/_fsdp_collectives.py`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          `wait_for_unshard ${CONDA}/torch/distributed/_composable/fsdp/_fsdp_param_group.py`,
          `pre_backward ${CONDA}/torch/distributed/_composable/fsdp/_fsdp_param_group.py`,
          `_pre_backward ${CONDA}/torch/distributed/_composable/fsdp/_fsdp_state.py`,
        ],
        from: `torch/distributed/_composable/fsdp/_fsdp_param.py init_all_gather_outputs; the functions as in ${READ}`,
        phase: 'param_gather',
      },
    ],
  },
  {
    id: 'fsdp.all-gather-buffer',
    component: 'communication',
    sub_component: 'all_gather_buffer',
    at: [
      {
        file: fsdp2('_fsdp_collectives.py'),
        function: [
          'foreach_all_gather',
          'foreach_all_gather_copy_out',
          '_get_param_all_gather_inputs',
          'all_gather_copy_in*',
        ],
      },
      { file: fsdp2('_fsdp_param.py'), function: 'all_gather_inputs' },
    ],
    source: `torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py foreach_all_gather, ${READ}`,
    samples: [
      {
        frames: [
          `allocate ${CONDA}/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py`,
          `foreach_all_gather ${CONDA}/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          ...fsdp2Forward(CONDA),
        ],
        from: `torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py foreach_all_gather, ${READ}`,
        phase: 'param_gather',
      },
      {
        frames: [
          `_to_dtype_if_needed ${VENV}/torch/distributed/fsdp/_fully_shard/_fsdp_common.py`,
          `all_gather_inputs ${VENV}/torch/distributed/fsdp/_fully_shard/_fsdp_param.py`,
          `_get_param_all_gather_inputs ${VENV}/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py`,
          `foreach_all_gather ${VENV}/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py`,
          ...fsdp2Forward(VENV),
        ],
        from: `torch/distributed/fsdp/_fully_shard/_fsdp_param.py all_gather_inputs, ${READ}`,
      },
    ],
  },
  {
    id: 'fsdp.sharded-gradient',
    component: 'gradient',
    sub_component: 'sharded_gradient',
    at: { file: fsdp2('_fsdp_collectives.py'), function: 'foreach_reduce' },
    when: { lifetime: 'resident' },
    phase: 'grad_finalize',
    // The output of the reduce-scatter is what the sharded gradients are views of; its input goes with the layer's backward.
    source: `torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py foreach_reduce (reduce_output), ${READ}`,
    samples: [
      {
        frames: [
          `allocate ${DIST}/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py`,
          `foreach_reduce ${DIST}/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py`,
          `decorate_context ${DIST}/torch/utils/_contextlib.py`,
          ...fsdp2Backward(DIST),
        ],
        from: `torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py foreach_reduce, ${READ}`,
        lifetime: 'resident',
      },
    ],
  },
  {
    id: 'fsdp.reduce-scatter-buffer',
    component: 'communication',
    sub_component: 'reduce_scatter_buffer',
    at: { file: fsdp2('_fsdp_collectives.py'), function: ['foreach_reduce', 'foreach_reduce_scatter_copy_in'] },
    phase: 'grad_finalize',
    source: `torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py foreach_reduce (reduce_scatter_input), ${READ}`,
    samples: [
      {
        frames: [
          `foreach_reduce ${CONDA}/torch/distributed/_composable/fsdp/_fsdp_collectives.py`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          `post_backward ${CONDA}/torch/distributed/_composable/fsdp/_fsdp_param_group.py`,
          `backward ${CONDA}/torch/distributed/_composable/fsdp/_fsdp_param_group.py`,
          `apply ${CONDA}/torch/autograd/function.py`,
        ],
        from: `torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py foreach_reduce, ${READ}`,
        lifetime: 'transient',
      },
    ],
  },
  {
    id: 'fsdp.unsharded-gradient',
    component: 'gradient',
    sub_component: 'unsharded_gradient',
    at: {
      file: fsdp2('_fsdp_param.py'),
      function: ['to_accumulated_grad_if_needed', 'accumulate_unsharded_grad_if_needed', 'unsharded_zero_grad_data'],
    },
    phase: 'backward',
    source: `torch/distributed/fsdp/_fully_shard/_fsdp_param.py to_accumulated_grad_if_needed, ${READ}`,
    samples: [
      {
        frames: [
          `to_accumulated_grad_if_needed ${VENV}/torch/distributed/fsdp/_fully_shard/_fsdp_param.py`,
          ...fsdp2Backward(VENV),
        ],
        from: `torch/distributed/fsdp/_fully_shard/_fsdp_param.py to_accumulated_grad_if_needed, ${READ}`,
      },
    ],
  },
  {
    id: 'fsdp.input-cast',
    component: 'activation',
    sub_component: 'mixed_precision_cast',
    at: [
      { file: fsdp2('_fsdp_common.py'), function: '_cast_fp_tensor' },
      { file: fsdp2('_fsdp_state.py'), function: ['_cast_forward_inputs', '_cast_output_dtype'] },
      { file: 'torch/distributed/utils.py', function: ['_cast_forward_inputs', 'cast_fn'] },
    ],
    source: `torch/distributed/fsdp/_fully_shard/_fsdp_common.py _cast_fp_tensor; torch/distributed/utils.py _cast_forward_inputs, ${READ}`,
    samples: [
      {
        frames: [
          `_cast_fp_tensor ${CONDA}/torch/distributed/fsdp/_fully_shard/_fsdp_common.py`,
          `tree_map ${CONDA}/torch/utils/_pytree.py`,
          `_pre_forward ${CONDA}/torch/distributed/fsdp/_fully_shard/_fsdp_state.py`,
          `inner ${CONDA}/torch/nn/modules/module.py`,
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: `torch/distributed/fsdp/_fully_shard/_fsdp_state.py _pre_forward, ${READ}`,
      },
    ],
  },
  {
    id: 'fsdp.sharded-state-dict',
    component: 'checkpoint',
    sub_component: 'state_dict',
    at: [
      { file: ['torch/distributed/fsdp/_state_dict_utils.py', 'torch/distributed/fsdp/_optim_utils.py'] },
      { file: 'torch/distributed/checkpoint/**' },
      { file: 'torch/distributed/_state_dict_utils.py' },
    ],
    // Optimizer states that a load makes are told by the optimizer's own functions, further in.
    source: `torch/distributed/checkpoint, torch/distributed/fsdp/_state_dict_utils.py, _optim_utils.py, ${READ}`,
    samples: [
      {
        frames: [
          `_offload_state_dict_to_cpu ${VENV}/torch/distributed/_state_dict_utils.py`,
          `_maybe_full_or_cpu_state_dict ${VENV}/torch/distributed/checkpoint/state_dict.py`,
          `_get_model_state_dict ${VENV}/torch/distributed/checkpoint/state_dict.py`,
          `get_model_state_dict ${VENV}/torch/distributed/checkpoint/state_dict.py`,
          'save_checkpoint /home/user/project/train.py',
          ...SCRIPT,
        ],
        from: `torch/distributed/checkpoint/state_dict.py _get_model_state_dict, ${READ}`,
        phase: 'checkpoint_save',
      },
    ],
  },
];

export const FSDP_OWNERS: readonly AttributionRule[] = [...FSDP2_OWNERS, ...FSDP1_OWNERS];

export const FSDP_LAYERS: readonly AttributionRule[] = [
  {
    id: 'torchao.float8-cast',
    component: 'fp8_buffer',
    sub_component: 'float8_cast',
    at: {
      file: [
        'torchao/float8/float8_scaling_utils.py',
        'torchao/float8/float8_tensor.py',
        'torchao/float8/float8_training_tensor.py',
        'torchao/float8/float8_utils.py',
        'torchao/float8/fsdp_utils.py',
      ],
    },
    source:
      'torchao/float8/float8_linear.py (imports and calls of hp_tensor_to_float8_dynamic), pytorch/ao 024fe94; float8_training_tensor.py is its later name (not read)',
    samples: [
      {
        frames: [
          `forward ${VENV}/torchao/float8/float8_tensor.py`,
          `apply ${VENV}/torch/autograd/function.py`,
          `hp_tensor_and_scale_to_float8 ${VENV}/torchao/float8/float8_tensor.py`,
          `hp_tensor_to_float8_dynamic ${VENV}/torchao/float8/float8_scaling_utils.py`,
          `forward ${VENV}/torchao/float8/float8_linear.py`,
          `apply ${VENV}/torch/autograd/function.py`,
          `forward ${VENV}/torchao/float8/float8_linear.py`,
          ...moduleCall(VENV),
          'forward /workspace/torchtitan/torchtitan/models/llama3/model/model.py',
          ...moduleCall(VENV),
          ...TITAN_TAIL,
        ],
        from: 'torchao/float8/float8_linear.py manual_float8_matmul_with_args_in_hp.forward, pytorch/ao 024fe94',
      },
    ],
  },
  {
    id: 'torchtitan.loss',
    component: 'logits_loss',
    sub_component: 'loss',
    at: { file: 'torchtitan/components/loss.py' },
    without: { file: 'torch/nn/modules/module.py', function: '_call_impl' },
    source: 'torchtitan/components/loss.py cross_entropy_loss, pytorch/torchtitan 00a388d',
    samples: [
      {
        frames: ['cross_entropy_loss /workspace/torchtitan/torchtitan/components/loss.py', ...TITAN_TAIL],
        from: 'torchtitan/components/loss.py cross_entropy_loss (pred.float()), pytorch/torchtitan 00a388d',
      },
    ],
  },
  {
    id: 'torchtitan.expert-parallel',
    component: 'moe_dispatch',
    sub_component: 'token_exchange',
    at: {
      file: 'torchtitan/distributed/expert_parallel.py',
      function: ['_token_dispatch', '_token_combine', '_permute', '_unpermute'],
    },
    source:
      'torchtitan/distributed/expert_parallel.py ExpertParallel._token_dispatch, _token_combine (excerpts; no commit known)',
    samples: [
      {
        frames: [
          `all_to_all_single_autograd ${DIST}/torch/distributed/_functional_collectives.py`,
          '_token_dispatch /workspace/torchtitan/torchtitan/distributed/expert_parallel.py',
          `<lambda> ${DIST}/torch/distributed/tensor/_api.py`,
          `inner ${DIST}/torch/nn/modules/module.py`,
          ...moduleCall(DIST),
          'forward /workspace/torchtitan/torchtitan/models/moe/moe.py',
          ...moduleCall(DIST),
          ...TITAN_TAIL,
        ],
        from: 'torchtitan/distributed/expert_parallel.py ExpertParallel._token_dispatch (excerpt)',
      },
    ],
  },
  {
    id: 'dtensor.redistribute',
    component: 'communication',
    sub_component: 'dtensor_redistribute',
    at: {
      file: [
        'torch/distributed/_functional_collectives.py',
        'torch/distributed/tensor/_redistribute.py',
        'torch/distributed/tensor/_collective_utils.py',
        'torch/distributed/_tensor/redistribute.py',
      ],
    },
    without: { file: 'torchtitan/distributed/expert_parallel.py' },
    source: `torch/distributed/tensor/_redistribute.py redistribute_local_tensor, _functional_collectives.py all_gather_tensor, ${READ}`,
    samples: [
      {
        frames: [
          `all_gather_tensor ${CONDA}/torch/distributed/_functional_collectives.py`,
          `_to_replicate_tensor ${CONDA}/torch/distributed/tensor/placement_types.py`,
          `redistribute_local_tensor ${CONDA}/torch/distributed/tensor/_redistribute.py`,
          `forward ${CONDA}/torch/distributed/tensor/_redistribute.py`,
          `apply ${CONDA}/torch/autograd/function.py`,
          `redistribute ${CONDA}/torch/distributed/tensor/_api.py`,
          `_prepare_input_fn ${CONDA}/torch/distributed/tensor/parallel/style.py`,
          `<lambda> ${CONDA}/torch/distributed/tensor/_api.py`,
          `inner ${CONDA}/torch/nn/modules/module.py`,
          ...moduleCall(CONDA),
          'forward /home/user/project/model.py',
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: `torch/distributed/tensor/_redistribute.py redistribute_local_tensor, ${READ}`,
      },
    ],
  },
];

/** FSDP1: flat parameters. Its `forward` is in every stack of the model it wraps and is no owner of anything. */
import type { AttributionRule } from '../match/rule.js';
import { CONDA, DIST, moduleCall, SCRIPT, trainerStep, VENV } from './sample-tails.js';

const READ = 'torch 2.13.0 and 2.14.1 wheels';
/** The name up to torch 2.0 was `flat_param.py`. */
const FLAT_PARAM = ['torch/distributed/fsdp/_flat_param.py', 'torch/distributed/fsdp/flat_param.py'];
const RUNTIME = 'torch/distributed/fsdp/_runtime_utils.py';

function unsharded(packages: string): readonly string[] {
  return [
    `_alloc_storage ${packages}/torch/distributed/utils.py`,
    `_alloc_padded_unsharded_flat_param ${packages}/torch/distributed/fsdp/_flat_param.py`,
    `unshard ${packages}/torch/distributed/fsdp/_flat_param.py`,
    `_unshard ${packages}/${RUNTIME}`,
  ];
}

export const FSDP1_OWNERS: readonly AttributionRule[] = [
  {
    id: 'fsdp.flat-parameter',
    component: 'parameter',
    sub_component: 'sharded_parameter',
    at: {
      file: FLAT_PARAM,
      function: [
        'flatten_tensors',
        'flatten_tensors_into_flat_param',
        '_init_flat_param_and_metadata',
        'shard',
        '_get_shard',
        '_get_unpadded_shard',
        'init_flat_param_attributes',
        'flat_param_to',
      ],
    },
    source: `torch/distributed/fsdp/_flat_param.py FlatParamHandle.flatten_tensors, _get_shard, init_flat_param_attributes, ${READ}`,
    samples: [
      {
        frames: [
          `_get_shard ${CONDA}/torch/distributed/fsdp/_flat_param.py`,
          `shard ${CONDA}/torch/distributed/fsdp/_flat_param.py`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          `_init_param_handle_from_params ${CONDA}/torch/distributed/fsdp/_init_utils.py`,
          `_init_param_handle_from_module ${CONDA}/torch/distributed/fsdp/_init_utils.py`,
          `__init__ ${CONDA}/torch/distributed/fsdp/fully_sharded_data_parallel.py`,
          `_wrap ${CONDA}/torch/distributed/fsdp/wrap.py`,
          `_recursive_wrap ${CONDA}/torch/distributed/fsdp/wrap.py`,
          ...SCRIPT,
        ],
        from: `torch/distributed/fsdp/_flat_param.py FlatParamHandle.shard, ${READ}`,
      },
      {
        frames: [
          `flatten_tensors ${VENV}/torch/distributed/fsdp/_flat_param.py`,
          `flatten_tensors_into_flat_param ${VENV}/torch/distributed/fsdp/_flat_param.py`,
          `_init_flat_param_and_metadata ${VENV}/torch/distributed/fsdp/_flat_param.py`,
          `__init__ ${VENV}/torch/distributed/fsdp/_flat_param.py`,
          `_init_param_handle_from_params ${VENV}/torch/distributed/fsdp/_init_utils.py`,
          `_init_param_handle_from_module ${VENV}/torch/distributed/fsdp/_init_utils.py`,
          `__init__ ${VENV}/torch/distributed/fsdp/fully_sharded_data_parallel.py`,
          ...SCRIPT,
        ],
        from: `torch/distributed/fsdp/_flat_param.py FlatParamHandle.flatten_tensors, ${READ}`,
      },
    ],
  },
  {
    id: 'fsdp.unsharded-flat-parameter',
    component: 'parameter',
    sub_component: 'unsharded_parameter',
    at: {
      file: FLAT_PARAM,
      function: ['_alloc_padded_unsharded_flat_param', '_all_gather_flat_param', '_use_unsharded_flat_param'],
    },
    source: `torch/distributed/fsdp/_flat_param.py FlatParamHandle._alloc_padded_unsharded_flat_param, ${READ}`,
    samples: [
      {
        frames: [
          ...unsharded(CONDA),
          `_pre_forward_unshard ${CONDA}/${RUNTIME}`,
          `_pre_forward ${CONDA}/${RUNTIME}`,
          `forward ${CONDA}/torch/distributed/fsdp/fully_sharded_data_parallel.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/transformers/models/mistral/modeling_mistral.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/torch/distributed/fsdp/fully_sharded_data_parallel.py`,
          ...moduleCall(CONDA),
          ...trainerStep(CONDA),
        ],
        from: `torch/distributed/fsdp/_flat_param.py unshard, ${READ}`,
        phase: 'param_gather',
      },
      {
        frames: [...unsharded(VENV), `_prefetch_handle ${VENV}/${RUNTIME}`, `_pre_backward_hook ${VENV}/${RUNTIME}`],
        from: `torch/distributed/fsdp/_runtime_utils.py _pre_backward_hook, ${READ}`,
        phase: 'param_gather',
      },
    ],
  },
  {
    id: 'fsdp.low-precision-shard',
    component: 'parameter',
    sub_component: 'low_precision_shard',
    at: { file: FLAT_PARAM, function: '_use_low_precision_shard' },
    source: `torch/distributed/fsdp/_flat_param.py FlatParamHandle._use_low_precision_shard, ${READ}`,
    samples: [
      {
        frames: [
          `_alloc_storage ${DIST}/torch/distributed/utils.py`,
          `_use_low_precision_shard ${DIST}/torch/distributed/fsdp/_flat_param.py`,
          `pre_unshard ${DIST}/torch/distributed/fsdp/_flat_param.py`,
          `_unshard ${DIST}/${RUNTIME}`,
          `_pre_forward_unshard ${DIST}/${RUNTIME}`,
          `_pre_forward ${DIST}/${RUNTIME}`,
          `forward ${DIST}/torch/distributed/fsdp/fully_sharded_data_parallel.py`,
          ...moduleCall(DIST),
          ...SCRIPT,
        ],
        from: `torch/distributed/fsdp/_flat_param.py pre_unshard, ${READ}`,
      },
    ],
  },
  {
    id: 'fsdp.sharded-flat-gradient',
    component: 'gradient',
    sub_component: 'sharded_gradient',
    at: { file: RUNTIME, function: ['_get_reduce_scatter_tensors', '_reduce_grad', '_post_backward_hook'] },
    when: { lifetime: 'resident' },
    phase: 'grad_finalize',
    source: `torch/distributed/fsdp/_runtime_utils.py _get_reduce_scatter_tensors (new_sharded_grad), ${READ}`,
    samples: [
      {
        frames: [
          `_get_reduce_scatter_tensors ${CONDA}/${RUNTIME}`,
          `_reduce_grad ${CONDA}/${RUNTIME}`,
          `_post_backward_hook ${CONDA}/${RUNTIME}`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
        ],
        from: `torch/distributed/fsdp/_runtime_utils.py _get_reduce_scatter_tensors, ${READ}`,
        lifetime: 'resident',
      },
    ],
  },
  {
    id: 'fsdp.flat-reduce-scatter-buffer',
    component: 'communication',
    sub_component: 'reduce_scatter_buffer',
    at: {
      file: RUNTIME,
      function: ['_get_reduce_scatter_tensors', '_reduce_grad', '_reduce_grad_no_shard', '_post_backward_hook'],
    },
    phase: 'grad_finalize',
    source: `torch/distributed/fsdp/_runtime_utils.py _reduce_grad, _post_backward_hook (cast to the reduce dtype), ${READ}`,
    samples: [
      {
        frames: [`_post_backward_hook ${VENV}/${RUNTIME}`, `decorate_context ${VENV}/torch/utils/_contextlib.py`],
        from: `torch/distributed/fsdp/_runtime_utils.py _post_backward_hook, ${READ}`,
        lifetime: 'transient',
      },
    ],
  },
  {
    id: 'fsdp.flat-gradient',
    component: 'gradient',
    sub_component: 'flat_gradient',
    at: [
      {
        file: FLAT_PARAM,
        function: [
          'unshard_grad',
          'prepare_gradient_for_optim',
          'prepare_gradient_for_backward',
          '_use_unsharded_grad_views',
          '_use_sharded_grad_views',
          'cast_grad_to_param_dtype_if_needed',
        ],
      },
      { file: RUNTIME, function: ['_accumulate_sharded_grad', '_cast_grad_to_param_dtype', '_offload_grad'] },
    ],
    source: `torch/distributed/fsdp/_flat_param.py prepare_gradient_for_optim, _runtime_utils.py _cast_grad_to_param_dtype, ${READ}`,
    samples: [
      {
        frames: [
          `cast_grad_to_param_dtype_if_needed ${CONDA}/torch/distributed/fsdp/_flat_param.py`,
          `prepare_gradient_for_optim ${CONDA}/torch/distributed/fsdp/_flat_param.py`,
          `_finalize_params ${CONDA}/${RUNTIME}`,
          `_post_backward_final_callback ${CONDA}/${RUNTIME}`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          `_engine_run_backward ${CONDA}/torch/autograd/graph.py`,
          `backward ${CONDA}/torch/autograd/__init__.py`,
          `backward ${CONDA}/torch/_tensor.py`,
          ...SCRIPT,
        ],
        from: `torch/distributed/fsdp/_runtime_utils.py _finalize_params, ${READ}`,
      },
    ],
  },
  {
    id: 'fsdp.init-move',
    component: 'parameter',
    sub_component: 'module_to_device',
    at: {
      file: ['torch/distributed/fsdp/_init_utils.py', 'torch/distributed/fsdp/_fully_shard/_fsdp_init.py'],
      function: [
        '_move_module_to_device',
        '_move_states_to_device',
        '_materialize_*',
        '_sync_module_params_and_buffers',
      ],
    },
    source: `torch/distributed/fsdp/_init_utils.py _move_states_to_device; _fully_shard/_fsdp_init.py of the same name, ${READ}`,
    samples: [
      {
        frames: [
          `_move_states_to_device ${DIST}/torch/distributed/fsdp/_fully_shard/_fsdp_init.py`,
          `fully_shard ${DIST}/torch/distributed/fsdp/_fully_shard/_fully_shard.py`,
          `wrapper ${DIST}/torch/distributed/_composable/contract.py`,
          ...SCRIPT,
        ],
        from: `torch/distributed/fsdp/_fully_shard/_fsdp_init.py _move_states_to_device, ${READ}`,
      },
    ],
  },
];

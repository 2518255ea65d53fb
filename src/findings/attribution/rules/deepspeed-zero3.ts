/** DeepSpeed ZeRO 3: parameters in partitions, gathered where a module needs them. */
import type { AttributionRule } from '../match/rule.js';
import { CONDA, DIST, moduleCall, SCRIPT, trainerStep, VENV } from './sample-tails.js';

const PARTITION = 'deepspeed/runtime/zero/partition_parameters.py';
const STAGE3 = 'deepspeed/runtime/zero/stage3.py';
const COORDINATOR = 'deepspeed/runtime/zero/partitioned_param_coordinator.py';
const NVTX = 'deepspeed/utils/nvtx.py';
const READ = 'DeepSpeed 007cca6';
const READ_PARTITION = 'DeepSpeed 0031ae3';

function initialize(packages: string): readonly string[] {
  return [
    `__init__ ${packages}/${STAGE3}`,
    `_configure_zero_optimizer ${packages}/deepspeed/runtime/engine.py`,
    `_configure_optimizer ${packages}/deepspeed/runtime/engine.py`,
    `__init__ ${packages}/deepspeed/runtime/engine.py`,
    `initialize ${packages}/deepspeed/__init__.py`,
    `_prepare_deepspeed ${packages}/accelerate/accelerator.py`,
    `prepare ${packages}/accelerate/accelerator.py`,
    ...SCRIPT,
  ];
}

function fetchInForward(packages: string): readonly string[] {
  return [
    `wrapped_fn ${packages}/${NVTX}`,
    `__all_gather_params_ ${packages}/${COORDINATOR}`,
    `__all_gather_params ${packages}/${COORDINATOR}`,
    `wrapped_fn ${packages}/${NVTX}`,
    ...fetch(packages),
  ];
}

function fetch(packages: string): readonly string[] {
  return [
    `fetch_sub_module ${packages}/${COORDINATOR}`,
    `decorate_context ${packages}/torch/utils/_contextlib.py`,
    `wrapped_fn ${packages}/${NVTX}`,
    `pre_sub_module_forward_function ${packages}/deepspeed/runtime/zero/parameter_offload.py`,
    `decorate_context ${packages}/torch/utils/_contextlib.py`,
    `_pre_forward_module_hook ${packages}/deepspeed/runtime/zero/parameter_offload.py`,
    `inner ${packages}/torch/nn/modules/module.py`,
    ...moduleCall(packages),
    `forward ${packages}/transformers/models/llama/modeling_llama.py`,
    ...moduleCall(packages),
    `forward ${packages}/deepspeed/runtime/engine.py`,
    `wrapped_fn ${packages}/${NVTX}`,
    ...moduleCall(packages),
    ...trainerStep(packages),
  ];
}

/** Hooks on gradients run on the engine's thread. */
function reduceHook(packages: string): readonly string[] {
  return [
    `__reduce_and_partition_ipg_grads ${packages}/${STAGE3}`,
    `decorate_context ${packages}/torch/utils/_contextlib.py`,
    `wrapped_fn ${packages}/${NVTX}`,
    `reduce_independent_p_g_buckets_and_remove_grads ${packages}/${STAGE3}`,
    `reduce_ready_partitions_and_remove_grads ${packages}/${STAGE3}`,
    `reduce_partition_and_remove_grads ${packages}/${STAGE3}`,
    `wrapped_fn ${packages}/${NVTX}`,
  ];
}

export const ZERO3_OWNERS: readonly AttributionRule[] = [
  {
    id: 'deepspeed.zero3-partition',
    component: 'parameter',
    sub_component: 'sharded_parameter',
    at: [
      { file: PARTITION, function: ['_partition_param', '_partition_param_sec'] },
      { file: STAGE3, function: 'defragment' },
    ],
    source: `deepspeed/runtime/zero/partition_parameters.py Init._partition_param, ${READ_PARTITION}; stage3.py defragment, ${READ}`,
    samples: [
      {
        frames: [
          `_partition_param ${CONDA}/${PARTITION}`,
          `wrapped_fn ${CONDA}/${NVTX}`,
          `_partition ${CONDA}/${PARTITION}`,
          `partition ${CONDA}/${PARTITION}`,
          `_post_init_method ${CONDA}/${PARTITION}`,
          `wrapper ${CONDA}/${PARTITION}`,
          `__init__ ${CONDA}/transformers/models/llama/modeling_llama.py`,
          `wrapper ${CONDA}/${PARTITION}`,
          `from_pretrained ${CONDA}/transformers/modeling_utils.py`,
          ...SCRIPT,
        ],
        from: `deepspeed/runtime/zero/partition_parameters.py _partition_param, ${READ_PARTITION}`,
      },
      {
        frames: [
          `defragment ${VENV}/${STAGE3}`,
          `_create_fp16_partitions_with_defragmentation ${VENV}/${STAGE3}`,
          ...initialize(VENV),
        ],
        from: `deepspeed/runtime/zero/stage3.py defragment, ${READ}`,
      },
    ],
  },
  {
    id: 'deepspeed.zero3-gather-buffer',
    component: 'communication',
    sub_component: 'all_gather_buffer',
    // Several parameters are gathered into one buffer and copied out of it.
    at: { file: PARTITION, function: ['_all_gather_dtype', '_allgather_params', '_allgather_params_coalesced'] },
    phase: 'param_gather',
    source: `deepspeed/runtime/zero/partition_parameters.py _all_gather_dtype, ${READ_PARTITION}`,
    samples: [
      {
        frames: [
          `_all_gather_dtype ${DIST}/${PARTITION}`,
          `all_gather_coalesced ${DIST}/${PARTITION}`,
          ...fetchInForward(DIST),
        ],
        from: `deepspeed/runtime/zero/partition_parameters.py _all_gather_dtype, ${READ_PARTITION}`,
      },
    ],
  },
  {
    id: 'deepspeed.zero3-unsharded-parameter',
    component: 'parameter',
    sub_component: 'unsharded_parameter',
    at: { file: PARTITION, function: ['all_gather_coalesced', 'wait', '_allgather_param', '_no_gather_coalesced'] },
    phase: 'param_gather',
    source: `deepspeed/runtime/zero/partition_parameters.py all_gather_coalesced, AllGatherCoalescedHandle.wait, ${READ_PARTITION}`,
    samples: [
      {
        frames: [`all_gather_coalesced ${CONDA}/${PARTITION}`, ...fetchInForward(CONDA)],
        from: `deepspeed/runtime/zero/partition_parameters.py all_gather_coalesced (one parameter), ${READ_PARTITION}`,
      },
      {
        frames: [
          `wrapped_fn ${VENV}/${NVTX}`,
          `wait ${VENV}/${PARTITION}`,
          `wrapped_fn ${VENV}/${NVTX}`,
          `wait ${VENV}/${PARTITION}`,
          ...fetch(VENV),
        ],
        from: `deepspeed/runtime/zero/partition_parameters.py AllGatherCoalescedHandle.wait, ${READ_PARTITION}`,
      },
    ],
  },
  {
    id: 'deepspeed.zero3-master-weights',
    component: 'optimizer_state',
    sub_component: 'master_weights',
    at: { file: STAGE3, function: ['_create_fp32_partitions', '_create_next_swappable_fp32_groups'] },
    phase: 'optimizer_build',
    source: `deepspeed/runtime/zero/stage3.py _create_fp32_partitions, ${READ}`,
    samples: [
      {
        frames: [
          `_create_fp32_partitions ${CONDA}/${STAGE3}`,
          `_setup_for_real_optimizer ${CONDA}/${STAGE3}`,
          ...initialize(CONDA),
        ],
        from: `deepspeed/runtime/zero/stage3.py _create_fp32_partitions, ${READ}`,
      },
    ],
  },
  {
    id: 'deepspeed.zero3-momentum',
    component: 'optimizer_state',
    sub_component: 'momentum_buffer',
    at: { file: STAGE3, function: '_create_momentum_buffer' },
    source: `deepspeed/runtime/zero/stage3.py _create_momentum_buffer, ${READ}`,
    samples: [
      {
        frames: [
          `_create_momentum_buffer ${VENV}/${STAGE3}`,
          `_create_fp32_partitions ${VENV}/${STAGE3}`,
          `_setup_for_real_optimizer ${VENV}/${STAGE3}`,
          ...initialize(VENV),
        ],
        from: `deepspeed/runtime/zero/stage3.py _create_momentum_buffer, ${READ}`,
      },
    ],
  },
  {
    id: 'deepspeed.zero3-gradient-buffer',
    component: 'gradient',
    sub_component: 'gradient_partition',
    // `_setup_for_real_optimizer` also makes the reduce buckets, of `reduce_bucket_size` elements each.
    at: { file: STAGE3, function: ['_setup_for_real_optimizer', 'initialize_optimizer_states'] },
    phase: 'optimizer_build',
    source: `deepspeed/runtime/zero/stage3.py _setup_for_real_optimizer (grad_partitions_flat_buffer), ${READ}`,
    samples: [
      {
        frames: [`_setup_for_real_optimizer ${DIST}/${STAGE3}`, ...initialize(DIST)],
        from: `deepspeed/runtime/zero/stage3.py _setup_for_real_optimizer, ${READ}`,
      },
    ],
  },
  {
    id: 'deepspeed.zero3-reduce-scatter',
    component: 'communication',
    sub_component: 'gradient_reduce_scatter',
    at: [
      { file: 'deepspeed/runtime/comm/coalesced_collectives.py' },
      { file: STAGE3, function: ['__avg_scatter_grads', '__avg_scatter_contiguous_grads', '*_avg_scatter_grads'] },
    ],
    phase: 'grad_finalize',
    source: 'deepspeed/runtime/comm/coalesced_collectives.py reduce_scatter_coalesced, DeepSpeed 17b3b55',
    samples: [
      {
        frames: [
          `wrapped_fn ${CONDA}/${NVTX}`,
          `reduce_scatter_coalesced ${CONDA}/deepspeed/runtime/comm/coalesced_collectives.py`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          `wrapped_fn ${CONDA}/${NVTX}`,
          `__avg_scatter_grads ${CONDA}/${STAGE3}`,
          `wrapped_fn ${CONDA}/${NVTX}`,
          ...reduceHook(CONDA),
        ],
        from: 'deepspeed/runtime/comm/coalesced_collectives.py reduce_scatter_coalesced, DeepSpeed 17b3b55',
      },
    ],
  },
  {
    id: 'deepspeed.zero3-gradient-partition',
    component: 'gradient',
    sub_component: 'gradient_partition',
    at: { file: STAGE3, function: ['partition_grads', '_prepare_fp32_grad_for_sub_group', 'reduce_leaf_module_grads'] },
    source: `deepspeed/runtime/zero/stage3.py partition_grads, ${READ}`,
    samples: [
      {
        frames: [`partition_grads ${VENV}/${STAGE3}`, `wrapped_fn ${VENV}/${NVTX}`, ...reduceHook(VENV)],
        from: `deepspeed/runtime/zero/stage3.py partition_grads, ${READ}`,
      },
    ],
  },
];

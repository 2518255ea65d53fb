/** DeepSpeed: ZeRO 1 and 2, the mixed-precision optimizers, pipelines. ZeRO 3 is in `deepspeed-zero3.ts`, MoE and checkpoints in `deepspeed-layers.ts`. */
import type { AttributionRule } from '../match/rule.js';
import { DEEPSPEED_LAYERS } from './deepspeed-layers.js';
import { ZERO3_OWNERS } from './deepspeed-zero3.js';
import { CONDA, DIST, SCRIPT, VENV } from './sample-tails.js';

/** ZeRO 1 and 2 were two files up to 0.4. */
const ZERO12 = [
  'deepspeed/runtime/zero/stage_1_and_2.py',
  'deepspeed/runtime/zero/stage2.py',
  'deepspeed/runtime/zero/stage1.py',
];
const READ = 'DeepSpeed 02aa38c';

function initialize(packages: string): readonly string[] {
  return [
    `_configure_zero_optimizer ${packages}/deepspeed/runtime/engine.py`,
    `_configure_optimizer ${packages}/deepspeed/runtime/engine.py`,
    `__init__ ${packages}/deepspeed/runtime/engine.py`,
    `initialize ${packages}/deepspeed/__init__.py`,
    ...SCRIPT,
  ];
}

/** Hooks on gradients run on the engine's thread. */
function gradientHook(packages: string): readonly string[] {
  return [
    `process_gradients ${packages}/deepspeed/runtime/zero/stage_1_and_2.py`,
    `grad_handling_hook ${packages}/deepspeed/runtime/zero/stage_1_and_2.py`,
  ];
}

function step(packages: string): readonly string[] {
  return [
    `step ${packages}/deepspeed/runtime/zero/stage_1_and_2.py`,
    `_take_model_step ${packages}/deepspeed/runtime/engine.py`,
    `step ${packages}/deepspeed/runtime/engine.py`,
    ...SCRIPT,
  ];
}

export const DEEPSPEED_OWNERS: readonly AttributionRule[] = [
  ...ZERO3_OWNERS,
  {
    id: 'deepspeed.zero12-flat-groups',
    component: 'parameter',
    sub_component: 'zero_flat_groups',
    // One function makes the flat low-precision parameters and this rank's fp32 master weights: only their order and sizes tell them apart.
    at: { file: ZERO12, function: ['__init__', 'flatten_dense_tensors_aligned'] },
    phase: 'optimizer_build',
    source: `deepspeed/runtime/zero/stage_1_and_2.py DeepSpeedZeroOptimizer.__init__, ${READ}`,
    samples: [
      {
        frames: [`__init__ ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`, ...initialize(CONDA)],
        from: `deepspeed/runtime/zero/stage_1_and_2.py DeepSpeedZeroOptimizer.__init__, ${READ}`,
        lifetime: 'resident',
      },
    ],
  },
  {
    id: 'deepspeed.zero12-initial-gradient',
    component: 'gradient',
    sub_component: 'gradient_partition',
    at: { file: ZERO12, function: 'initialize_optimizer_states' },
    phase: 'optimizer_build',
    source: `deepspeed/runtime/zero/stage_1_and_2.py initialize_optimizer_states, ${READ}`,
    samples: [
      {
        frames: [
          `initialize_optimizer_states ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `__init__ ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          ...initialize(VENV),
        ],
        from: `deepspeed/runtime/zero/stage_1_and_2.py initialize_optimizer_states, ${READ}`,
      },
    ],
  },
  {
    id: 'deepspeed.ipg-bucket',
    component: 'communication',
    sub_component: 'gradient_bucket',
    // `backward` itself made the buckets up to 0.16.
    at: { file: ZERO12, function: ['setup_buckets', 'reduce_gradients', 'backward'] },
    phase: 'backward',
    source: `deepspeed/runtime/zero/stage_1_and_2.py setup_buckets, ${READ}`,
    samples: [
      {
        frames: [`setup_buckets ${DIST}/deepspeed/runtime/zero/stage_1_and_2.py`, ...gradientHook(DIST)],
        from: `deepspeed/runtime/zero/stage_1_and_2.py setup_buckets, ${READ}`,
      },
    ],
  },
  {
    id: 'deepspeed.gradient-reduce',
    component: 'communication',
    sub_component: 'gradient_reduce',
    at: {
      file: [...ZERO12, 'deepspeed/runtime/engine.py', 'deepspeed/runtime/bf16_optimizer.py'],
      function: ['allreduce_*', 'average_tensor', 'gradient_reduction_w_predivide', 'buffered_reduce_fallback'],
    },
    phase: 'grad_finalize',
    source: `deepspeed/runtime/zero/stage_1_and_2.py allreduce_bucket, average_tensor, gradient_reduction_w_predivide, ${READ}`,
    samples: [
      {
        frames: [
          `_flatten_dense_tensors ${CONDA}/torch/_utils.py`,
          `allreduce_bucket ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `allreduce_and_copy_with_multiple_ranks ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `allreduce_and_scatter ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `average_tensor ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `reduce_ipg_grads ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `reduce_independent_p_g_buckets_and_remove_grads ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `reduce_ready_partitions_and_remove_grads ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          ...gradientHook(CONDA),
        ],
        from: `deepspeed/runtime/zero/stage_1_and_2.py allreduce_bucket, ${READ}`,
      },
    ],
  },
  {
    id: 'deepspeed.zero12-gradient-partition',
    component: 'gradient',
    sub_component: 'gradient_partition',
    at: {
      file: ZERO12,
      function: [
        'copy_grads_in_partition',
        'get_gradient_for_reduction',
        '_fill_param_grad_accum_attribute',
        'set_none_gradients_to_zero',
      ],
    },
    phase: 'backward',
    source: `deepspeed/runtime/zero/stage_1_and_2.py copy_grads_in_partition, get_flat_partition, ${READ}`,
    samples: [
      {
        frames: [
          `copy_grads_in_partition ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `reduce_ipg_grads ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `independent_gradient_partition_epilogue ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `overlapping_partition_gradients_reduce_epilogue ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `reduce_gradients ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `allreduce_gradients ${VENV}/deepspeed/runtime/engine.py`,
          `backward ${VENV}/deepspeed/runtime/engine.py`,
          ...SCRIPT,
        ],
        from: `deepspeed/runtime/zero/stage_1_and_2.py copy_grads_in_partition, ${READ}`,
      },
    ],
  },
  {
    // In backward where gradients are partitioned (ZeRO 2), in the step where they are not (ZeRO 1).
    id: 'deepspeed.zero12-flat-gradient',
    component: 'gradient',
    sub_component: 'gradient_partition',
    at: { file: ZERO12, function: ['get_all_grad_tensors', 'get_flat_partition'] },
    source: `deepspeed/runtime/zero/stage_1_and_2.py get_flat_partition, ${READ}`,
    samples: [
      {
        frames: [`get_flat_partition ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`, ...step(CONDA)],
        from: `deepspeed/runtime/zero/stage_1_and_2.py get_flat_partition, ${READ}`,
        phase: 'optimizer_step',
      },
    ],
  },
  {
    id: 'deepspeed.gradient-offload',
    component: 'offload_buffer',
    sub_component: 'gradient_offload',
    at: {
      file: [...ZERO12, 'deepspeed/runtime/zero/stage3.py'],
      function: [
        'async_accumulate_grad_in_cpu_via_gpu',
        'async_inplace_copy_grad_to_fp32_buffer_from_gpu',
        'buffer_to_accumulate_to_in_cpu',
      ],
    },
    phase: 'backward',
    source: `deepspeed/runtime/zero/stage_1_and_2.py async_inplace_copy_grad_to_fp32_buffer_from_gpu, ${READ}`,
    samples: [
      {
        frames: [
          `async_inplace_copy_grad_to_fp32_buffer_from_gpu ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `copy_grads_in_partition ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `reduce_ipg_grads ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `reduce_independent_p_g_buckets_and_remove_grads ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          ...gradientHook(CONDA),
        ],
        from: `deepspeed/runtime/zero/stage_1_and_2.py copy_grads_in_partition (cpu_offload), ${READ}`,
      },
    ],
  },
  {
    id: 'deepspeed.swap-tensor',
    component: 'offload_buffer',
    sub_component: 'swap_buffer',
    at: { file: ['deepspeed/runtime/swap_tensor/**', 'deepspeed/runtime/zero/offload_states.py'] },
    source: `deepspeed/runtime/zero/stage_1_and_2.py imports of zero/offload_states.py, ${READ}; swap_tensor (not read)`,
    samples: [
      {
        frames: [
          `reload_optimizer_states ${DIST}/deepspeed/runtime/zero/offload_states.py`,
          `reload_states ${DIST}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `reload_states ${DIST}/deepspeed/runtime/engine.py`,
          ...SCRIPT,
        ],
        from: `deepspeed/runtime/zero/offload_states.py reload_optimizer_states (imported by stage_1_and_2.py; not read)`,
      },
    ],
  },
  {
    id: 'deepspeed.grad-norm',
    component: 'temporary',
    sub_component: 'grad_norm',
    at: {
      file: [
        ...ZERO12,
        'deepspeed/runtime/zero/stage3.py',
        'deepspeed/runtime/utils.py',
        'deepspeed/runtime/base_optimizer.py',
      ],
      function: [
        'scaled_global_norm',
        'get_grad_norm_direct',
        'complete_grad_norm_calculation_for_cpu_offload',
        'set_norm_for_param_grad*',
        '_constant_buffered_norm2',
        'has_overflow*',
        '_has_inf_or_nan',
        'unscale_and_clip_grads',
        'get_global_norm_of_tensors',
        'clip_tensors_by_global_norm',
      ],
    },
    phase: 'optimizer_step',
    source: `deepspeed/runtime/zero/stage_1_and_2.py scaled_global_norm, get_grad_norm_direct, _has_inf_or_nan, ${READ}`,
    samples: [
      {
        frames: [
          `_has_inf_or_nan ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `has_overflow_partitioned_grads_serial ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `has_overflow ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `_check_overflow ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          `check_overflow ${VENV}/deepspeed/runtime/zero/stage_1_and_2.py`,
          ...step(VENV),
        ],
        from: `deepspeed/runtime/zero/stage_1_and_2.py _has_inf_or_nan, ${READ}`,
      },
    ],
  },
  {
    id: 'deepspeed.fused-optimizer-state',
    component: 'optimizer_state',
    sub_component: 'moments',
    at: { file: ['deepspeed/ops/adam/*.py', 'deepspeed/ops/lamb/*.py', 'deepspeed/ops/lion/*.py'], function: 'step' },
    when: { lifetime: 'resident' },
    without: { function: ['closure'] },
    phase: 'optimizer_step',
    source: 'deepspeed/ops/adam/fused_adam.py FusedAdam.step, DeepSpeed 839f091',
    samples: [
      {
        frames: [
          `step ${CONDA}/deepspeed/ops/adam/fused_adam.py`,
          `wrapper ${CONDA}/torch/optim/optimizer.py`,
          `_optimizer_step ${CONDA}/deepspeed/runtime/zero/stage_1_and_2.py`,
          ...step(CONDA),
        ],
        from: 'deepspeed/ops/adam/fused_adam.py FusedAdam.step, DeepSpeed 839f091',
        lifetime: 'resident',
      },
    ],
  },
  {
    id: 'deepspeed.zero12-step-gradient',
    component: 'gradient',
    sub_component: 'fp32_gradient_partition',
    at: { file: ZERO12, function: 'step' },
    // The inner optimizer's own step is below this one.
    without: { file: 'torch/optim/optimizer.py' },
    phase: 'optimizer_step',
    source: `deepspeed/runtime/zero/stage_1_and_2.py step (single_grad_partition), ${READ}`,
    samples: [
      {
        frames: [`_flatten_dense_tensors ${VENV}/torch/_utils.py`, ...step(VENV)],
        from: `deepspeed/runtime/zero/stage_1_and_2.py step, ${READ}`,
        lifetime: 'transient',
      },
    ],
  },
  {
    id: 'deepspeed.param-all-gather',
    component: 'communication',
    sub_component: 'all_gather_buffer',
    at: {
      file: ['deepspeed/runtime/utils.py', 'deepspeed/runtime/bf16_optimizer.py'],
      function: ['all_gather_dp_groups', 'all_gather_all_partitions', 'all_gather_into_tensor_dp_groups'],
    },
    phase: 'param_gather',
    source: `deepspeed/runtime/zero/stage_1_and_2.py step, which calls deepspeed/runtime/utils.py all_gather_dp_groups, ${READ}`,
    samples: [
      {
        frames: [`all_gather_dp_groups ${DIST}/deepspeed/runtime/utils.py`, ...step(DIST)],
        from: `deepspeed/runtime/zero/stage_1_and_2.py step (its caller), ${READ}`,
      },
    ],
  },
  {
    id: 'deepspeed.bf16-flat-parameter',
    component: 'parameter',
    sub_component: 'zero_flat_groups',
    at: { file: 'deepspeed/runtime/bf16_optimizer.py', function: '_flatten_dense_tensors_aligned' },
    phase: 'optimizer_build',
    source: 'deepspeed/runtime/bf16_optimizer.py _setup_for_real_optimizer, DeepSpeed 0acdb02',
    samples: [
      {
        frames: [
          `_flatten_dense_tensors ${CONDA}/torch/_utils.py`,
          `_flatten_dense_tensors_aligned ${CONDA}/deepspeed/runtime/bf16_optimizer.py`,
          `_setup_for_real_optimizer ${CONDA}/deepspeed/runtime/bf16_optimizer.py`,
          `__init__ ${CONDA}/deepspeed/runtime/bf16_optimizer.py`,
          `_configure_bf16_optimizer ${CONDA}/deepspeed/runtime/engine.py`,
          ...initialize(CONDA).slice(1),
        ],
        from: 'deepspeed/runtime/bf16_optimizer.py _setup_for_real_optimizer, DeepSpeed 0acdb02',
      },
    ],
  },
  {
    id: 'deepspeed.bf16-gradient',
    component: 'gradient',
    sub_component: 'fp32_gradient_and_master',
    // The fp32 gradients of the whole model and, smaller by the data-parallel size, this rank's master weights.
    at: { file: 'deepspeed/runtime/bf16_optimizer.py', function: '_setup_for_real_optimizer' },
    phase: 'optimizer_build',
    source: 'deepspeed/runtime/bf16_optimizer.py _setup_for_real_optimizer (fp32_flat_buffer), DeepSpeed 0acdb02',
    samples: [
      {
        frames: [
          `_setup_for_real_optimizer ${VENV}/deepspeed/runtime/bf16_optimizer.py`,
          `__init__ ${VENV}/deepspeed/runtime/bf16_optimizer.py`,
          `_configure_bf16_optimizer ${VENV}/deepspeed/runtime/engine.py`,
          ...initialize(VENV).slice(1),
        ],
        from: 'deepspeed/runtime/bf16_optimizer.py _setup_for_real_optimizer, DeepSpeed 0acdb02',
      },
    ],
  },
  {
    id: 'deepspeed.fp16-master-weights',
    component: 'optimizer_state',
    sub_component: 'master_weights',
    at: {
      file: ['deepspeed/runtime/fp16/fused_optimizer.py', 'deepspeed/runtime/fp16/unfused_optimizer.py'],
      function: '__init__',
    },
    phase: 'optimizer_build',
    source: 'deepspeed/runtime/fp16/fused_optimizer.py FP16_Optimizer.__init__ (not read)',
    samples: [
      {
        frames: [
          `__init__ ${DIST}/deepspeed/runtime/fp16/fused_optimizer.py`,
          `_configure_fp16_optimizer ${DIST}/deepspeed/runtime/engine.py`,
          ...initialize(DIST).slice(1),
        ],
        from: 'deepspeed/runtime/fp16/fused_optimizer.py FP16_Optimizer.__init__ (not read)',
      },
    ],
  },
  {
    id: 'deepspeed.pipeline-buffer',
    component: 'communication',
    sub_component: 'pipeline_buffer',
    at: {
      file: 'deepspeed/runtime/pipe/engine.py',
      function: [
        '_allocate_zeros',
        '_allocate_buffer',
        '_allocate_buffers',
        '_exec_recv_*',
        '_send_tensor_meta',
        '_recv_tensor_meta',
      ],
    },
    source:
      'deepspeed/runtime/pipe/engine.py PipelineEngine._allocate_zeros, _allocate_buffer (excerpts; no commit known)',
    samples: [
      {
        frames: [
          `_allocate_zeros ${CONDA}/deepspeed/runtime/pipe/engine.py`,
          `_allocate_buffer ${CONDA}/deepspeed/runtime/pipe/engine.py`,
          `_exec_recv_grads ${CONDA}/deepspeed/runtime/pipe/engine.py`,
          `_exec_schedule ${CONDA}/deepspeed/runtime/pipe/engine.py`,
          `train_batch ${CONDA}/deepspeed/runtime/pipe/engine.py`,
          ...SCRIPT,
        ],
        from: 'deepspeed/runtime/pipe/engine.py PipelineEngine._allocate_buffer (excerpt)',
      },
    ],
  },
];

export { DEEPSPEED_LAYERS };

/** What DeepSpeed's own layers keep: activation checkpointing, MoE, sequence parallelism. */
import type { AttributionRule } from '../match/rule.js';
import { CONDA, DIST, moduleCall, SCRIPT, trainerLoop, VENV } from './sample-tails.js';

export const DEEPSPEED_LAYERS: readonly AttributionRule[] = [
  {
    id: 'deepspeed.checkpointed-input',
    component: 'activation',
    sub_component: 'checkpointed_input',
    at: {
      file: 'deepspeed/runtime/activation_checkpointing/checkpointing.py',
      function: [
        'partition_activations',
        'copy_to_device',
        'move_to_device',
        'get_partitioned_activations_for_backward',
        'get_cpu_activations_for_backward',
        'gather_partitioned_activations',
        'restore_offloaded_activations',
      ],
    },
    source: 'deepspeed/runtime/activation_checkpointing/checkpointing.py partition_activations, DeepSpeed 02f59ea',
    samples: [
      {
        frames: [
          `partition_activations ${VENV}/deepspeed/runtime/activation_checkpointing/checkpointing.py`,
          `forward ${VENV}/deepspeed/runtime/activation_checkpointing/checkpointing.py`,
          `apply ${VENV}/torch/autograd/function.py`,
          `checkpoint ${VENV}/deepspeed/runtime/activation_checkpointing/checkpointing.py`,
          'forward /home/user/project/model.py',
          ...moduleCall(VENV),
          `forward ${VENV}/deepspeed/runtime/engine.py`,
          `wrapped_fn ${VENV}/deepspeed/utils/nvtx.py`,
          ...moduleCall(VENV),
          ...SCRIPT,
        ],
        from: 'deepspeed/runtime/activation_checkpointing/checkpointing.py CheckpointFunction.forward, DeepSpeed 02f59ea',
        phase: 'forward',
      },
    ],
  },
  {
    id: 'deepspeed.moe-gating',
    component: 'moe_dispatch',
    sub_component: 'gating',
    at: {
      file: 'deepspeed/moe/sharded_moe.py',
      function: ['top1gating', 'top2gating', 'topkgating', '_one_hot_to_float', '_top_idx', 'multiplicative_jitter'],
    },
    source: 'deepspeed/moe/sharded_moe.py topkgating, DeepSpeed 0c691a5',
    samples: [
      {
        frames: [
          `topkgating ${CONDA}/deepspeed/moe/sharded_moe.py`,
          `forward ${CONDA}/deepspeed/moe/sharded_moe.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/deepspeed/moe/sharded_moe.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/deepspeed/moe/layer.py`,
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: 'deepspeed/moe/sharded_moe.py TopKGate.forward, DeepSpeed 0c691a5',
      },
    ],
  },
  {
    id: 'deepspeed.moe-experts',
    component: 'activation',
    sub_component: 'experts',
    at: { file: 'deepspeed/moe/experts.py', function: 'forward' },
    source: 'deepspeed/moe/sharded_moe.py MOELayer.forward, which calls self.experts, DeepSpeed 0c691a5',
    samples: [
      {
        frames: [
          `forward ${VENV}/torch/nn/modules/linear.py`,
          ...moduleCall(VENV),
          'forward /home/user/project/model.py',
          ...moduleCall(VENV),
          `forward ${VENV}/deepspeed/moe/experts.py`,
          ...moduleCall(VENV),
          `forward ${VENV}/deepspeed/moe/sharded_moe.py`,
          ...moduleCall(VENV),
          ...SCRIPT,
        ],
        from: 'deepspeed/moe/sharded_moe.py MOELayer.forward, DeepSpeed 0c691a5; experts.py (not read)',
      },
    ],
  },
  {
    id: 'deepspeed.moe-dispatch',
    component: 'moe_dispatch',
    sub_component: 'token_exchange',
    at: { file: ['deepspeed/moe/sharded_moe.py', 'deepspeed/moe/mappings.py'] },
    source: 'deepspeed/moe/sharded_moe.py MOELayer.forward, einsum, _AllToAll, DeepSpeed 0c691a5',
    samples: [
      {
        frames: [
          `einsum ${DIST}/deepspeed/moe/sharded_moe.py`,
          `forward ${DIST}/deepspeed/moe/sharded_moe.py`,
          ...moduleCall(DIST),
          `forward ${DIST}/deepspeed/moe/layer.py`,
          ...moduleCall(DIST),
          'forward /home/user/project/model.py',
          ...moduleCall(DIST),
          ...SCRIPT,
        ],
        from: 'deepspeed/moe/sharded_moe.py MOELayer.forward, DeepSpeed 0c691a5',
      },
    ],
  },
  {
    id: 'deepspeed.sequence-all-to-all',
    component: 'communication',
    sub_component: 'sequence_all_to_all',
    at: {
      file: ['deepspeed/sequence/layer.py', 'deepspeed/runtime/sequence_parallel/ulysses_sp.py'],
      function: ['single_all_to_all', '_generate_layout_params', 'all_to_all'],
    },
    source: 'deepspeed/sequence/layer.py single_all_to_all (not read)',
    samples: [
      {
        frames: [
          `single_all_to_all ${CONDA}/deepspeed/sequence/layer.py`,
          `forward ${CONDA}/deepspeed/sequence/layer.py`,
          `apply ${CONDA}/torch/autograd/function.py`,
          `forward ${CONDA}/deepspeed/sequence/layer.py`,
          ...moduleCall(CONDA),
          ...trainerLoop(CONDA),
        ],
        from: 'deepspeed/sequence/layer.py single_all_to_all (not read)',
      },
    ],
  },
];

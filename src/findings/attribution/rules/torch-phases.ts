/** Phases that plain PyTorch, its wrappers and common trainers tell by their function names. */
import type { FramePattern, PhaseRule } from '../match/rule.js';

const TORCH = 'torch 2.13.0 and 2.14.1 wheels';

export const TORCH_PHASES: readonly PhaseRule[] = [
  {
    phase: 'eval',
    at: {
      function: [
        'evaluate',
        'evaluation_loop',
        'prediction_loop',
        'prediction_step',
        'validate',
        'validation',
        'validation_step',
        'validation_epoch',
        'val_step',
        'test_step',
        'predict_step',
        'eval_step',
        'evaluate_model',
        'estimate_loss',
      ],
    },
    source:
      'transformers/trainer.py evaluate, evaluation_loop, prediction_step, transformers 5.17.0; lightning/pytorch/strategies/strategy.py validation_step, lightning 2.6.6; estimate_loss as in nanoGPT',
  },
  {
    phase: 'graph_capture',
    at: [
      { file: 'torch/cuda/graphs.py', function: ['make_graphed_callables', 'capture_begin', '__enter__'] },
      { file: 'torch/_inductor/cudagraph_trees.py', function: ['_record', 'record_function', 'run_eager'] },
    ],
    source: `torch/cuda/graphs.py, torch/_inductor/cudagraph_trees.py, ${TORCH}`,
  },
  {
    phase: 'checkpoint_save',
    at: [
      { file: 'torch/serialization.py', function: ['save', '_save', '_legacy_save'] },
      {
        file: 'torch/distributed/checkpoint/**',
        function: [
          'save',
          'async_save',
          'save_state_dict',
          'get_model_state_dict',
          'get_optimizer_state_dict',
          'get_state_dict',
        ],
      },
      {
        file: 'torch/distributed/fsdp/_state_dict_utils.py',
        function: [
          '_post_state_dict_hook',
          '_pre_state_dict_hook',
          '_full_*state_dict_hook',
          '_local_*state_dict_hook',
          '_sharded_*state_dict_hook',
        ],
      },
      { function: ['save_checkpoint', '_save_checkpoint', 'save_pretrained', 'save_model', 'save_state'] },
    ],
    source: `torch/serialization.py save, torch/distributed/checkpoint/state_dict_saver.py, ${TORCH}; transformers/trainer.py _save_checkpoint, transformers 5.17.0`,
  },
  {
    phase: 'checkpoint_load',
    at: [
      { file: 'torch/serialization.py', function: ['load', '_load', '_legacy_load'] },
      {
        file: 'torch/distributed/checkpoint/**',
        function: ['load', 'load_state_dict', 'set_model_state_dict', 'set_optimizer_state_dict', 'set_state_dict'],
      },
      {
        file: 'transformers/modeling_utils.py',
        function: ['_load_pretrained_model', 'load_state_dict', 'load_shard_file'],
      },
      { file: 'transformers/core_model_loading.py' },
      { file: 'safetensors/torch.py', function: ['load', 'load_file', 'load_model'] },
      {
        function: [
          'load_state_dict',
          '_load_from_state_dict',
          'load_checkpoint',
          '_load_checkpoint',
          '_load_from_checkpoint',
          'load_checkpoint_in_model',
          'resume_from_checkpoint',
        ],
      },
    ],
    source: `torch/serialization.py load, torch/optim/optimizer.py load_state_dict, ${TORCH}; transformers/modeling_utils.py _load_pretrained_model, transformers 4.57.6`,
  },
  {
    phase: 'optimizer_build',
    at: [
      {
        file: 'deepspeed/runtime/engine.py',
        function: [
          '_configure_optimizer',
          '_configure_zero_optimizer',
          '_configure_bf16_optimizer',
          '_configure_fp16_optimizer',
        ],
      },
      { file: 'torch/optim/*.py', function: ['__init__', 'add_param_group'] },
      {
        function: [
          'create_optimizer',
          'create_optimizer_and_scheduler',
          'configure_optimizers',
          'build_optimizer',
          'build_optimizers',
        ],
      },
    ],
    source: `torch/optim/optimizer.py Optimizer.__init__, ${TORCH}; transformers/trainer.py create_optimizer, transformers 5.17.0; deepspeed/runtime/engine.py (callers of stage_1_and_2.py; not read)`,
  },
  {
    phase: 'param_gather',
    at: [
      {
        file: [
          'torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py',
          'torch/distributed/_composable/fsdp/_fsdp_param_group.py',
        ],
        function: ['unshard', 'wait_for_unshard'],
      },
      {
        file: [
          'torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py',
          'torch/distributed/_composable/fsdp/_fsdp_collectives.py',
        ],
        function: ['foreach_all_gather', 'foreach_all_gather_copy_out'],
      },
      { file: 'torch/distributed/fsdp/_runtime_utils.py', function: ['_unshard', '_prefetch_handle'] },
      { file: 'deepspeed/runtime/zero/partitioned_param_coordinator.py', function: 'fetch_sub_module' },
      {
        file: 'deepspeed/runtime/zero/partition_parameters.py',
        function: ['all_gather*', '_all_gather*', '_allgather_param*'],
      },
    ],
    source: `torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py unshard, _runtime_utils.py _unshard, ${TORCH}; deepspeed/runtime/zero/partitioned_param_coordinator.py fetch_sub_module, DeepSpeed 00a31c9`,
  },
  {
    phase: 'grad_finalize',
    at: [
      {
        file: [
          'torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py',
          'torch/distributed/_composable/fsdp/_fsdp_param_group.py',
        ],
        function: ['post_backward', 'finalize_backward'],
      },
      {
        file: 'torch/distributed/fsdp/_runtime_utils.py',
        function: ['_reduce_grad', '_post_backward_final_callback', '_finalize_params'],
      },
      {
        file: 'deepspeed/runtime/zero/*.py',
        function: ['reduce_ipg_grads', '*_reduce_and_partition_ipg_grads', 'independent_gradient_partition_epilogue'],
      },
      { function: 'c10d::Reducer::finalize_backward*' },
    ],
    source: `torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py post_backward, ${TORCH}; deepspeed/runtime/zero/stage_1_and_2.py reduce_ipg_grads, DeepSpeed 02aa38c`,
  },
  {
    // Not `step` and not torch's wrapper around it: Lightning and L-BFGS run forward and backward inside them, as a closure. Rules for optimizers set the phase themselves.
    phase: 'optimizer_step',
    at: [
      {
        file: ['torch/optim/*.py', 'apex/optimizers/*.py'],
        function: [
          '_init_group',
          '_single_tensor_*',
          '_multi_tensor_*',
          '_fused_*',
          'adam',
          'adamw',
          'sgd',
          'adafactor',
          'muon',
        ],
      },
      { file: 'torch/nn/utils/clip_grad.py' },
      {
        file: ['torch/amp/grad_scaler.py', 'torch/cuda/amp/grad_scaler.py'],
        function: ['_unscale_grads_', 'unscale_', '_check_inf_per_device'],
      },
      { file: ['deepspeed/runtime/engine.py'], function: ['_take_model_step', 'step'] },
      { file: 'deepspeed/runtime/zero/*.py', function: ['step', '_optimizer_step'] },
      { file: 'bitsandbytes/optim/*.py' },
    ],
    source: `torch/optim/adam.py, torch/nn/utils/clip_grad.py, torch/amp/grad_scaler.py, ${TORCH}; deepspeed/runtime/zero/stage_1_and_2.py step, DeepSpeed 02aa38c`,
  },
  {
    phase: 'backward',
    at: [
      { function: ['backward', 'torch::autograd::Engine::*'] },
      {
        file: 'torch/autograd/graph.py',
        function: ['_engine_run_backward', 'unpack_from_cpu', 'unpack_hook', 'inner_hook'],
      },
      { file: 'torch/utils/checkpoint.py', function: ['unpack_hook', 'recompute_fn', 'inner_unpack', 'unpack'] },
      { file: 'torch/distributed/fsdp/_runtime_utils.py', function: ['_pre_backward_hook', '_post_backward_hook'] },
      {
        file: [
          'torch/distributed/fsdp/_fully_shard/_fsdp_state.py',
          'torch/distributed/_composable/fsdp/_fsdp_state.py',
        ],
        function: ['_pre_backward', '_root_post_backward_final_callback'],
      },
    ],
    source: `torch/_tensor.py Tensor.backward, torch/autograd/graph.py _engine_run_backward, torch/utils/checkpoint.py, ${TORCH}; torch::autograd::Engine::thread_main in torch/csrc/autograd/engine.h`,
  },
  {
    phase: 'forward',
    at: [
      { file: 'torch/nn/modules/module.py', function: ['_call_impl', '_wrapped_call_impl'] },
      { function: 'forward' },
      {
        file: ['torch/distributed/fsdp/_runtime_utils.py', 'torch/distributed/fsdp/_fully_shard/_fsdp_state.py'],
        function: '_pre_forward',
      },
      { function: 'compute_loss' },
    ],
    source: `torch/nn/modules/module.py Module._call_impl, ${TORCH}`,
  },
  {
    phase: 'model_build',
    at: [
      { file: 'torch/nn/modules/*.py', function: ['__init__', '_apply', 'to', 'cuda', 'reset_parameters'] },
      {
        function: [
          'from_pretrained',
          'from_config',
          'get_peft_model',
          'build_model',
          'create_model',
          'get_model',
          'fully_shard',
          '_init_weights',
          'init_weights',
        ],
      },
      {
        file: ['torch/nn/parallel/distributed.py', 'torch/distributed/fsdp/fully_sharded_data_parallel.py'],
        function: '__init__',
      },
    ],
    source: `torch/nn/modules/module.py Module._apply, torch/distributed/fsdp/_fully_shard/_fully_shard.py fully_shard, ${TORCH}; transformers/modeling_utils.py from_pretrained, transformers 5.17.0`,
  },
];

/** Checkpoints whose backward runs the forward again, besides Megatron's and Transformer Engine's. */
export const TORCH_RECOMPUTE: readonly FramePattern[] = [
  {
    file: 'torch/utils/checkpoint.py',
    function: ['backward', 'unpack_hook', 'recompute_fn', 'inner_unpack', 'unpack'],
  },
  {
    file: 'deepspeed/runtime/activation_checkpointing/checkpointing.py',
    function: ['backward', 'unpack_hook', 'inner_unpack', 'replay_unpack'],
  },
  { file: ['fairscale/nn/checkpoint/checkpoint_activations.py', 'xformers/checkpoint.py'], function: 'backward' },
];

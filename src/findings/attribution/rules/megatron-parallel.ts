/** What Megatron-Core allocates for parallelism: DDP buffers, tensor, sequence and pipeline parallel communication. */
import type { AttributionRule, FramePattern } from '../match/rule.js';
import {
  BLOCK,
  FORWARD_STEP,
  GET_MODEL,
  GPT,
  PIPELINE,
  RECOMPUTE,
  SCHEDULE,
  source,
  submodule,
  wheel,
} from './megatron-stacks.js';

const DDP_BUFFER = 'Megatron-LM core/distributed/param_and_grad_buffer.py 0011998';
/** The same code under the names it has had: core 0.11 to 0.13, core 0.14 and later and the pip package, NeMo's copies. */
const FSDP_TREE = ['megatron_fsdp/**', 'custom_fsdp/**', 'nvfsdp/**'];
const PARAM_SYNC: FramePattern = {
  file: ['core/distributed/param_and_grad_buffer.py', 'core/distributed/distributed_data_parallel.py'],
  function: ['start_param_sync', 'finish_param_sync'],
};
const GRAD_SYNC: readonly FramePattern[] = [
  {
    file: ['core/distributed/param_and_grad_buffer.py', 'core/distributed/distributed_data_parallel.py'],
    function: ['start_grad_sync', 'finish_grad_sync', 'register_grad_ready'],
  },
  { file: 'core/distributed/reduce_scatter_with_fp32_accumulation.py' },
];

export const PARALLEL_OWNERS: readonly AttributionRule[] = [
  {
    // Parameters and gradients come from one function; told apart by order, size and type.
    id: 'mcore.param-and-grad-buffer',
    component: 'gradient',
    sub_component: 'main_grad_buffer',
    at: {
      file: ['core/distributed/param_and_grad_buffer.py', 'core/distributed/grad_buffer.py'],
      function: '__init__',
    },
    phase: 'model_build',
    source: `${DDP_BUFFER} _ParamAndGradBuffer.__init__`,
    samples: [
      {
        frames: source(
          '__init__ core/distributed/param_and_grad_buffer.py',
          '_allocate_buffers_for_parameters core/distributed/distributed_data_parallel.py',
          '__init__ core/distributed/distributed_data_parallel.py',
          '<listcomp> training/training.py',
          GET_MODEL,
        ),
        lifetime: 'resident',
        from: `${DDP_BUFFER} _ParamAndGradBuffer.__init__`,
      },
      {
        frames: submodule(
          '_ParamAndGradBuffer.__init__ core/distributed/param_and_grad_buffer.py',
          'DistributedDataParallel.__init__.<locals>._allocate_buffers_for_parameters core/distributed/distributed_data_parallel.py',
          'DistributedDataParallel.__init__ core/distributed/distributed_data_parallel.py',
          '_ddp_wrap bridge/models/model_provider.py',
          'get_model bridge/models/model_provider.py',
          'provide_distributed_model bridge/models/model_provider.py',
          '_build_distributed_model bridge/training/setup.py',
          'setup bridge/training/setup.py',
        ),
        pool: 'private',
        from: `${DDP_BUFFER} _ParamAndGradBuffer.__init__ with nccl_ub; Bridge training/setup.py _build_distributed_model (004b734), models/model_provider.py (not read)`,
      },
    ],
  },
  {
    id: 'mcore.param-all-gather',
    component: 'communication',
    sub_component: 'param_all_gather',
    at: { file: 'torch/distributed/**' },
    within: PARAM_SYNC,
    source: `${DDP_BUFFER} _ParamAndGradBucketGroup.start_param_sync`,
    samples: [
      {
        frames: source(
          'all_gather_into_tensor torch/distributed/distributed_c10d.py',
          'wrapper torch/distributed/c10d_logger.py',
          'start_param_sync core/distributed/param_and_grad_buffer.py',
          'start_param_sync core/distributed/distributed_data_parallel.py',
          'step_with_ready_grads core/optimizer/distrib_optimizer.py',
          'decorate_context torch/utils/_contextlib.py',
          'step core/optimizer/optimizer.py',
          'train_step training/training.py',
          'train training/training.py',
        ),
        phase: 'param_gather',
        from: `${DDP_BUFFER} start_param_sync, without overlap_param_gather`,
      },
      {
        frames: submodule(
          'all_gather_into_tensor torch/distributed/distributed_c10d.py',
          'start_param_sync core/distributed/param_and_grad_buffer.py',
          'finish_param_sync core/distributed/param_and_grad_buffer.py',
          'hook core/distributed/distributed_data_parallel.py',
          'inner torch/nn/modules/module.py',
          BLOCK,
        ),
        phase: 'param_gather',
        from: 'Megatron-LM core/distributed/distributed_data_parallel.py _make_forward_pre_hook (0011998)',
      },
    ],
  },
  {
    id: 'mcore.param-sync',
    component: 'communication',
    sub_component: 'param_all_gather',
    at: PARAM_SYNC,
    source: `${DDP_BUFFER} _ParamAndGradBucketGroup.start_param_sync`,
    samples: [
      {
        frames: source(
          'start_param_sync core/distributed/param_and_grad_buffer.py',
          'start_param_sync core/distributed/distributed_data_parallel.py',
          'disable_forward_pre_hook core/distributed/distributed_data_parallel.py',
          'disable_forward_pre_hook training/training.py',
          'train training/training.py',
        ),
        phase: 'param_gather',
        from: 'Megatron-LM core/distributed/distributed_data_parallel.py disable_forward_pre_hook (0011998)',
      },
    ],
  },
  {
    id: 'mcore.grad-reduce-collective',
    component: 'communication',
    sub_component: 'grad_reduce',
    at: { file: 'torch/distributed/**' },
    within: GRAD_SYNC,
    source: `${DDP_BUFFER} _ParamAndGradBucketGroup.start_grad_sync`,
    samples: [
      {
        frames: wheel(
          'reduce_scatter_tensor torch/distributed/distributed_c10d.py',
          'start_grad_sync core/distributed/param_and_grad_buffer.py',
          'finish_grad_sync core/distributed/param_and_grad_buffer.py',
          'finish_grad_sync core/distributed/distributed_data_parallel.py',
          'finalize_model_grads core/distributed/finalize_model_grads.py',
          SCHEDULE,
        ),
        phase: 'grad_finalize',
        from: `${DDP_BUFFER} finish_grad_sync; core/distributed/finalize_model_grads.py (00c2c0a)`,
      },
    ],
  },
  {
    id: 'mcore.grad-reduce',
    component: 'communication',
    sub_component: 'grad_reduce',
    at: GRAD_SYNC,
    source: `${DDP_BUFFER} _ParamAndGradBucketGroup.start_grad_sync`,
    samples: [
      {
        frames: source(
          'reduce_scatter_with_fp32_accumulation core/distributed/reduce_scatter_with_fp32_accumulation.py',
          'start_grad_sync core/distributed/param_and_grad_buffer.py',
          'register_grad_ready core/distributed/param_and_grad_buffer.py',
          'hook core/distributed/distributed_data_parallel.py',
        ),
        phase: 'backward',
        from: 'Megatron-LM core/distributed/distributed_data_parallel.py _make_backward_post_hook (0011998)',
      },
    ],
  },
  {
    id: 'mcore.finalize-grads',
    component: 'communication',
    sub_component: 'coalesced_grads',
    at: { file: 'core/distributed/finalize_model_grads.py' },
    source: 'Megatron-LM core/distributed/finalize_model_grads.py _allreduce_* (00c2c0a)',
    samples: [
      {
        frames: source(
          '_flatten_dense_tensors torch/_utils.py',
          '_allreduce_layernorm_grads core/distributed/finalize_model_grads.py',
          'finalize_model_grads core/distributed/finalize_model_grads.py',
          PIPELINE,
        ),
        phase: 'grad_finalize',
        from: 'Megatron-LM core/distributed/finalize_model_grads.py _allreduce_layernorm_grads (00c2c0a)',
      },
      {
        frames: submodule(
          '_update_router_expert_bias core/distributed/finalize_model_grads.py',
          'finalize_model_grads core/distributed/finalize_model_grads.py',
          'forward_backward_no_pipelining core/pipeline_parallel/schedules.py',
          'train_step bridge/training/train.py',
        ),
        from: 'Megatron-LM core/distributed/finalize_model_grads.py _update_router_expert_bias (00c2c0a)',
      },
    ],
  },
  {
    id: 'mcore.global-memory-buffer',
    component: 'communication',
    sub_component: 'global_memory_buffer',
    at: { file: 'core/utils.py', function: 'GlobalMemoryBuffer.get_tensor' },
    without: { file: FSDP_TREE },
    source:
      'Megatron-LM core/tensor_parallel/layers.py LinearWithGradAccumulationAndAsyncCommunication.forward (000c4ac), core/utils.py GlobalMemoryBuffer',
    samples: [
      {
        frames: source(
          'get_tensor core/utils.py',
          'forward core/tensor_parallel/layers.py',
          'decorate_fwd torch/amp/autocast_mode.py',
          'apply',
          'linear_with_grad_accumulation_and_async_allreduce core/tensor_parallel/layers.py',
          'forward core/tensor_parallel/layers.py',
          'call',
          '_postprocess core/models/gpt/gpt_model.py',
          GPT,
        ),
        lifetime: 'resident',
        from: 'Megatron-LM core/tensor_parallel/layers.py LinearWithGradAccumulationAndAsyncCommunication.forward (000c4ac)',
      },
      {
        frames: submodule(
          'GlobalMemoryBuffer.get_tensor core/utils.py',
          '_gather_along_first_dim core/tensor_parallel/mappings.py',
          '_GatherFromSequenceParallelRegion.forward core/tensor_parallel/mappings.py',
          'apply',
          'gather_from_sequence_parallel_region core/tensor_parallel/mappings.py',
          'token_dispatch core/transformer/moe/token_dispatcher.py',
          'dispatch core/transformer/moe/moe_layer.py',
          'call',
          BLOCK,
        ),
        from: 'Megatron-LM core/tensor_parallel/mappings.py _gather_along_first_dim with use_global_buffer (00caa53)',
      },
    ],
  },
  {
    id: 'mcore.sequence-gather',
    component: 'communication',
    sub_component: 'tp_gather',
    at: { file: 'core/tensor_parallel/mappings.py', function: ['_gather_along_first_dim', '_gather_along_last_dim'] },
    without: { file: 'transformer/moe/token_dispatcher.py' },
    source: 'Megatron-LM core/tensor_parallel/mappings.py _gather_along_first_dim (00caa53)',
    samples: [
      {
        frames: source(
          '_gather_along_first_dim core/tensor_parallel/mappings.py',
          'forward core/tensor_parallel/mappings.py',
          'apply',
          'gather_from_sequence_parallel_region core/tensor_parallel/mappings.py',
          'forward core/transformer/multi_latent_attention.py',
          'call',
          '_forward_attention core/transformer/transformer_layer.py',
          'forward core/transformer/transformer_layer.py',
          BLOCK,
        ),
        phase: 'forward',
        from: 'Megatron-LM core/tensor_parallel/mappings.py _GatherFromSequenceParallelRegion.forward (00caa53)',
      },
      {
        frames: wheel(
          '_gather_along_first_dim core/tensor_parallel/mappings.py',
          'backward core/tensor_parallel/mappings.py',
          'apply',
        ),
        phase: 'backward',
        from: 'Megatron-LM core/tensor_parallel/mappings.py _ReduceScatterToSequenceParallelRegion.backward (00caa53)',
      },
    ],
  },
  {
    // The chunk of the input that a distributed checkpoint keeps in place of the whole; it lives until backward.
    id: 'mcore.distributed-saved-activation',
    component: 'activation',
    sub_component: 'checkpoint_input',
    at: { file: 'core/tensor_parallel/utils.py', function: 'split_tensor_into_1d_equal_chunks' },
    source: 'Megatron-LM core/tensor_parallel/random.py CheckpointFunction.forward (004bfb5)',
    samples: [
      {
        frames: source(
          'split_tensor_into_1d_equal_chunks core/tensor_parallel/utils.py',
          'forward core/tensor_parallel/random.py',
          'apply',
          'checkpoint core/tensor_parallel/random.py',
          'checkpoint_handler core/transformer/transformer_block.py',
          '_checkpointed_forward core/transformer/transformer_block.py',
          'forward core/transformer/transformer_block.py',
          'call',
          GPT,
        ),
        phase: 'forward',
        from: 'Megatron-LM core/tensor_parallel/random.py CheckpointFunction.forward (004bfb5)',
      },
    ],
  },
  {
    id: 'mcore.gathered-checkpoint-input',
    component: 'recompute',
    sub_component: 'checkpoint_input',
    at: { file: 'core/tensor_parallel/utils.py', function: 'gather_split_1d_tensor' },
    source: 'Megatron-LM core/tensor_parallel/random.py CheckpointFunction.backward (004bfb5)',
    samples: [
      {
        frames: source('gather_split_1d_tensor core/tensor_parallel/utils.py', RECOMPUTE.slice(1)),
        phase: 'backward',
        from: 'Megatron-LM core/tensor_parallel/random.py CheckpointFunction.backward (004bfb5)',
      },
    ],
  },
  {
    id: 'mcore.pipeline-p2p',
    component: 'communication',
    sub_component: 'pipeline_p2p',
    at: {
      file: [
        'core/pipeline_parallel/p2p_communication.py',
        'core/pipeline_parallel/bridge_communicator.py',
        'core/pipeline_parallel/multimodule_communicator.py',
      ],
    },
    source: 'Megatron-LM core/pipeline_parallel/p2p_communication.py create_tensor_recv_prev (2fd6e2b)',
    samples: [
      {
        frames: source(
          'create_tensor_recv_prev core/pipeline_parallel/p2p_communication.py',
          '_communicate core/pipeline_parallel/p2p_communication.py',
          'recv_forward core/pipeline_parallel/p2p_communication.py',
          'recv_forward core/pipeline_parallel/schedules.py',
          PIPELINE,
        ),
        from: 'Megatron-LM core/pipeline_parallel/p2p_communication.py _communicate (2fd6e2b)',
      },
      {
        frames: submodule(
          'P2PCommunicator._communicate.<locals>.create_tensor_recv_next core/pipeline_parallel/p2p_communication.py',
          'P2PCommunicator._communicate core/pipeline_parallel/p2p_communication.py',
          'P2PCommunicator.send_forward_backward_recv_forward_backward core/pipeline_parallel/p2p_communication.py',
          'forward_backward_pipelining_with_interleaving core/pipeline_parallel/schedules.py',
          'train_step bridge/training/train.py',
          'train bridge/training/train.py',
        ),
        from: 'Megatron-LM core/pipeline_parallel/p2p_communication.py create_tensor_recv_next (2fd6e2b); P2PCommunicator as Bridge training/eval.py builds it (05e4568)',
      },
    ],
  },
];

export const PARALLEL_LAYERS: readonly AttributionRule[] = [
  {
    id: 'mcore.backward-seed',
    component: 'temporary',
    sub_component: 'backward_seed',
    at: {
      file: 'core/pipeline_parallel/schedules.py',
      function: ['custom_backward', 'backward_step', 'deallocate_output_tensor'],
    },
    source: 'Megatron-LM core/pipeline_parallel/schedules.py custom_backward, deallocate_output_tensor (4dabc62)',
    samples: [
      {
        frames: source(
          '_make_grads torch/autograd/__init__.py',
          'backward torch/autograd/__init__.py',
          'backward_step core/pipeline_parallel/schedules.py',
          SCHEDULE,
        ),
        phase: 'backward',
        from: 'Megatron-LM core/pipeline_parallel/schedules.py backward_step (4dabc62)',
      },
      {
        frames: wheel(
          'deallocate_output_tensor core/pipeline_parallel/schedules.py',
          'forward_backward_pipelining_without_interleaving core/pipeline_parallel/schedules.py',
          '__call__ nemo/lightning/megatron_parallel.py',
        ),
        from: 'Megatron-LM core/pipeline_parallel/schedules.py deallocate_output_tensor (4dabc62)',
      },
    ],
  },
];

/** For what no layer claims: the tier below them. */
export const PARALLEL_GENERIC: readonly AttributionRule[] = [
  {
    // Within a layer the result is that layer's output, and stays for backward: the layer decides.
    id: 'mcore.sequence-reduce-scatter',
    component: 'communication',
    sub_component: 'tp_reduce_scatter',
    at: { file: 'core/tensor_parallel/mappings.py' },
    source: 'Megatron-LM core/tensor_parallel/mappings.py _reduce_scatter_along_first_dim (00caa53)',
    samples: [
      {
        frames: source(
          '_reduce_scatter_along_first_dim core/tensor_parallel/mappings.py',
          'backward core/tensor_parallel/mappings.py',
          'apply',
        ),
        phase: 'backward',
        from: 'Megatron-LM core/tensor_parallel/mappings.py _GatherFromSequenceParallelRegion.backward (00caa53)',
      },
      {
        frames: source(
          '_split_along_first_dim core/tensor_parallel/mappings.py',
          'forward core/tensor_parallel/mappings.py',
          'apply',
          'scatter_to_sequence_parallel_region core/tensor_parallel/mappings.py',
          FORWARD_STEP,
        ),
        from: 'Megatron-LM core/tensor_parallel/mappings.py _ScatterToSequenceParallelRegion.forward (00caa53)',
      },
    ],
  },
];

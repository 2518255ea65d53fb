/** Megatron's own fully sharded data parallelism, and its wrapper of torch's. */
import type { AttributionRule, FramePattern } from '../match/rule.js';
import { BLOCK, GET_MODEL, source, wheel } from './megatron-stacks.js';

const FSDP_BUFFER = 'Megatron-LM core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py 0056bc9';
/** The same code under the names it has had: core 0.11 to 0.13, core 0.14 and later and the pip package, NeMo's copies. */
const FSDP_TREE = ['megatron_fsdp/**', 'custom_fsdp/**', 'nvfsdp/**'];

const UNSHARD: FramePattern = { file: FSDP_TREE, function: ['async_bucket_gather', 'all_gather_params'] };
const REDUCE: FramePattern = {
  file: FSDP_TREE,
  function: [
    'reduce_gradients',
    'mark_bucket_ready',
    '_bucket_group_gradient_reduce',
    '_grad_acc',
    'get_main_grad',
    'main_grad_getter',
  ],
};
/** Where the buckets of both come from. */
const BUCKET: FramePattern = { file: FSDP_TREE, function: ['allocate', 'fetch_bucket', '_init_fsdp_buffers'] };

export const FSDP_OWNERS_OF_MEGATRON: readonly AttributionRule[] = [
  {
    id: 'mcore.fsdp-unsharded-params',
    component: 'communication',
    sub_component: 'fsdp_unsharded_params',
    at: BUCKET,
    within: UNSHARD,
    source: `${FSDP_BUFFER} AllGatherPipeline.async_bucket_gather, DataParallelBuffer.fetch_bucket`,
    samples: [
      {
        frames: source(
          'allocate core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py',
          'fetch_bucket core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py',
          'async_bucket_gather core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py',
          'decorate_context torch/utils/_contextlib.py',
          'all_gather_params core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py',
          'all_gather_and_wait_parameters_ready core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py',
          '_pre_forward_param_unshard core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py',
          'inner torch/nn/modules/module.py',
          BLOCK,
        ),
        phase: 'param_gather',
        from: 'Megatron-LM core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py _pre_forward_param_unshard (00caa53)',
      },
      {
        // The fixed pool keeps its buckets in the global memory buffer.
        frames: wheel(
          'get_tensor core/utils.py',
          'allocate megatron_fsdp/param_and_grad_buffer.py',
          'fetch_bucket megatron_fsdp/param_and_grad_buffer.py',
          'async_bucket_gather megatron_fsdp/param_and_grad_buffer.py',
          'all_gather_params megatron_fsdp/param_and_grad_buffer.py',
          'all_gather_and_wait_parameters_ready megatron_fsdp/megatron_fsdp.py',
          '_pre_backward_param_unshard megatron_fsdp/megatron_fsdp.py',
        ),
        from: `${FSDP_BUFFER} FixedPoolAllocator.allocate, as the pip package megatron-fsdp`,
      },
    ],
  },
  {
    id: 'mcore.fsdp-unsharded-grads',
    component: 'communication',
    sub_component: 'fsdp_unsharded_grads',
    at: BUCKET,
    within: REDUCE,
    source: 'Megatron-LM core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py _grad_acc (00caa53)',
    samples: [
      {
        frames: source(
          'allocate core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py',
          'fetch_bucket core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py',
          'main_grad_getter core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py',
          '_grad_acc core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py',
          '_process_post_backward_gradients core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py',
          'backward core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py',
          'apply',
        ),
        phase: 'backward',
        from: 'Megatron-LM core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py _grad_acc (00caa53)',
      },
    ],
  },
  {
    id: 'mcore.fsdp-bucket',
    component: 'communication',
    sub_component: 'fsdp_bucket',
    at: [
      BUCKET,
      {
        file: FSDP_TREE,
        function: ['gradient_reduce_preprocessing', 'reduce_gradients', 'all_gather_params', 'async_bucket_gather'],
      },
    ],
    source: `${FSDP_BUFFER} TemporaryBucketAllocator.allocate`,
    samples: [
      {
        frames: source(
          'allocate core/distributed/custom_fsdp/param_and_grad_buffer.py',
          'fetch_bucket core/distributed/custom_fsdp/param_and_grad_buffer.py',
          '_init_each_parameter_group_buffers core/distributed/custom_fsdp/param_and_grad_buffer.py',
          '__init__ core/distributed/custom_fsdp/param_and_grad_buffer.py',
          '__init__ core/distributed/custom_fsdp/fully_sharded_data_parallel.py',
          GET_MODEL,
        ),
        from: `${FSDP_BUFFER} _init_each_parameter_group_buffers, in the layout of core 0.12`,
      },
    ],
  },
  {
    // Sharded weights, main weights and main gradients come from one function.
    id: 'mcore.fsdp-group-buffers',
    component: 'parameter',
    sub_component: 'fsdp_shard',
    at: [
      { file: FSDP_TREE, function: ['_init_each_parameter_group_buffers', 'init_data', '_init_distributed_params'] },
      { file: ['megatron_fsdp/v2/*.py', 'megatron_fsdp/experimental/*.py'], function: '__init__' },
    ],
    phase: 'model_build',
    source: `${FSDP_BUFFER} ParamAndGradBuffer._init_each_parameter_group_buffers`,
    samples: [
      {
        frames: source(
          '_init_each_parameter_group_buffers core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py',
          '__init__ core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py',
          '_init_fsdp_param_and_grad_buffer core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py',
          '__init__ core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py',
          '__init__ core/distributed/fsdp/mcore_fsdp_adapter.py',
          GET_MODEL,
        ),
        lifetime: 'resident',
        from: `${FSDP_BUFFER} _init_each_parameter_group_buffers`,
      },
      {
        frames: wheel(
          '_init_each_parameter_group_buffers core/distributed/custom_fsdp/param_and_grad_buffer.py',
          '__init__ core/distributed/custom_fsdp/param_and_grad_buffer.py',
          '__init__ core/distributed/custom_fsdp/fully_sharded_data_parallel.py',
          'init_ddp nemo/lightning/megatron_parallel.py',
          'setup_megatron_parallel nemo/lightning/pytorch/strategies/megatron_strategy.py',
        ),
        from: `${FSDP_BUFFER} _init_each_parameter_group_buffers, in the layout of core 0.12`,
      },
    ],
  },
  {
    id: 'mcore.torch-fsdp2',
    component: 'parameter',
    sub_component: 'fsdp_shard',
    at: { file: 'torch/distributed/**' },
    within: { file: 'core/distributed/torch_fully_sharded_data_parallel.py', function: '__init__' },
    phase: 'model_build',
    source:
      'Megatron-LM core/distributed/torch_fully_sharded_data_parallel.py TorchFullyShardedDataParallel.__init__ (megatron.md 5.2)',
    samples: [
      {
        frames: source(
          '_init_sharded_param torch/distributed/fsdp/_fully_shard/_fsdp_param.py',
          'decorate_context torch/utils/_contextlib.py',
          '__init__ torch/distributed/fsdp/_fully_shard/_fsdp_param.py',
          '<listcomp> torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py',
          '__init__ torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py',
          'fully_shard torch/distributed/fsdp/_fully_shard/_fully_shard.py',
          'wrapper torch/distributed/_composable/contract.py',
          '__init__ core/distributed/torch_fully_sharded_data_parallel.py',
          GET_MODEL,
        ),
        lifetime: 'resident',
        from: 'Megatron-LM core/distributed/torch_fully_sharded_data_parallel.py __init__ (not read)',
      },
    ],
  },
];

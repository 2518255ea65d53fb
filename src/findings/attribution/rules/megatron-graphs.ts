/**
 * CUDA graph pools of Megatron-Core and Transformer Engine.
 *
 * No frame of `nccl_allocator.py` is in the stack of a buffer that lives in its pool: it is a context around the allocation. Such buffers are told by their owner.
 */
import type { AttributionRule, FramePattern } from '../match/rule.js';
import { GET_MODEL, PIPELINE, SCHEDULE, source, submodule, wheel } from './megatron-stacks.js';

const NCCL_ALLOCATOR: FramePattern = { file: ['core/nccl_allocator.py', 'apex/contrib/nccl_allocator/**'] };

const CAPTURE: readonly FramePattern[] = [
  { file: 'core/transformer/cuda_graphs.py', function: ['create_fwd_graph', 'create_bwd_graph', 'create_cudagraphs'] },
  { file: 'core/full_cuda_graph.py', function: 'FullCudaGraphWrapper.__call__' },
  { file: 'transformer_engine/pytorch/graph.py', function: ['_make_graphed_callables', 'make_graphed_callables'] },
];

export const GRAPH_OWNERS: readonly AttributionRule[] = [
  {
    id: 'mcore.nccl-allocator',
    component: 'communication',
    sub_component: 'nccl_mem_pool',
    at: [NCCL_ALLOCATOR, { file: 'core/tensor_parallel/gtp_symmetric_memory.py' }],
    source: 'Megatron-LM core/nccl_allocator.py nccl_mem, register_mem_pool (00caa53)',
    samples: [
      {
        frames: source(
          '__exit__ core/nccl_allocator.py',
          '__init__ core/distributed/param_and_grad_buffer.py',
          '__init__ core/distributed/distributed_data_parallel.py',
          GET_MODEL,
        ),
        pool: 'private',
        from: 'Megatron-LM core/nccl_allocator.py nccl_mem.__exit__ (not read: makes no tensor itself, would be a registration buffer)',
      },
    ],
  },
  {
    // A pool that outlives its capture holds whatever the captured code made, so what it made is not said.
    id: 'mcore.cuda-graph-pool',
    component: 'graph_pool',
    sub_component: 'cuda_graph',
    // Something below the capturing function itself.
    at: CAPTURE,
    through: { function: '*' },
    without: NCCL_ALLOCATOR,
    when: { pool: 'private' },
    phase: 'graph_capture',
    source:
      'Megatron-LM core/transformer/cuda_graphs.py (0004de1), core/full_cuda_graph.py (00caa53); TransformerEngine pytorch/graph.py (02d6bdc)',
    samples: [
      {
        frames: source(
          'get_query_key_value_tensors core/transformer/attention.py',
          'forward core/transformer/attention.py',
          'call',
          '_forward_attention core/transformer/transformer_layer.py',
          'forward core/transformer/transformer_layer.py',
          'call',
          'create_fwd_graph core/transformer/cuda_graphs.py',
          'create_cudagraphs core/transformer/cuda_graphs.py',
          'create_cudagraphs core/transformer/cuda_graphs.py',
          SCHEDULE,
        ),
        pool: 'private',
        phase: 'graph_capture',
        from: 'Megatron-LM core/transformer/cuda_graphs.py _CudagraphGlobalRecord.create_cudagraphs (0004de1)',
      },
      {
        frames: submodule(
          'forward core/tensor_parallel/cross_entropy.py',
          'apply',
          'vocab_parallel_cross_entropy core/tensor_parallel/cross_entropy.py',
          'compute_language_model_loss core/models/common/language_module/language_module.py',
          '_postprocess core/models/gpt/gpt_model.py',
          'forward core/models/gpt/gpt_model.py',
          'call',
          'forward_step bridge/training/gpt_step.py',
          'forward_step core/pipeline_parallel/schedules.py',
          'forward_backward_no_pipelining core/pipeline_parallel/schedules.py',
          '__call__ core/full_cuda_graph.py',
          'train_step bridge/training/train.py',
          'train bridge/training/train.py',
        ),
        pool: 'private',
        phase: 'graph_capture',
        from: 'Megatron-LM core/full_cuda_graph.py FullCudaGraphWrapper.__call__ (00caa53); Bridge training/train.py train_step (006430a)',
      },
      {
        frames: wheel(
          'forward te/module/layernorm_linear.py',
          'apply',
          'forward te/module/layernorm_linear.py',
          'call',
          'forward core/extensions/transformer_engine.py',
          'call',
          'get_query_key_value_tensors core/transformer/attention.py',
          'forward core/transformer/attention.py',
          'call',
          'forward core/transformer/transformer_layer.py',
          'call',
          '_make_graphed_callables te/graph.py',
          'make_graphed_callables te/graph.py',
          'create_cudagraphs core/transformer/cuda_graphs.py',
        ),
        pool: 'private',
        from: 'TransformerEngine pytorch/graph.py _make_graphed_callables (02d6bdc); Megatron-LM core/transformer/cuda_graphs.py create_cudagraphs (0004de1)',
      },
    ],
  },
  {
    id: 'mcore.cuda-graph-static-buffer',
    component: 'graph_pool',
    sub_component: 'static_buffer',
    at: [
      ...CAPTURE,
      {
        file: 'core/transformer/cuda_graphs.py',
        function: ['alloc_tensor_from_graph_mempool', 'get_tensor*', 'zero_out*'],
      },
    ],
    without: NCCL_ALLOCATOR,
    when: { pool: 'private' },
    phase: 'graph_capture',
    source:
      'Megatron-LM core/transformer/cuda_graphs.py (0004de1); TransformerEngine pytorch/graph.py static_grad_outputs (02d6bdc)',
    samples: [
      {
        frames: source(
          'create_bwd_graph core/transformer/cuda_graphs.py',
          'create_cudagraphs core/transformer/cuda_graphs.py',
          'create_cudagraphs core/transformer/cuda_graphs.py',
          PIPELINE,
        ),
        pool: 'private',
        from: 'Megatron-LM core/transformer/cuda_graphs.py _CudaGraphRunner.create_bwd_graph (0004de1)',
      },
    ],
  },
];

export const GRAPH_LAYERS: readonly AttributionRule[] = [
  {
    id: 'mcore.graph-capture-backup',
    component: 'temporary',
    sub_component: 'graph_capture_backup',
    at: CAPTURE,
    source:
      'Megatron-LM core/transformer/cuda_graphs.py _CudaGraphRunner.create_fwd_graph keeps buffers and main_grad aside (0004de1)',
    samples: [
      {
        frames: source(
          'create_fwd_graph core/transformer/cuda_graphs.py',
          'create_cudagraphs core/transformer/cuda_graphs.py',
          'create_cudagraphs core/transformer/cuda_graphs.py',
          SCHEDULE,
        ),
        pool: 'default',
        phase: 'graph_capture',
        from: 'Megatron-LM core/transformer/cuda_graphs.py _CudaGraphRunner.create_fwd_graph, grad_backup (0004de1)',
      },
    ],
  },
];

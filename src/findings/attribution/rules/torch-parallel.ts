/** Data parallelism of torch.nn.parallel: DDP's buckets, DataParallel's replicas. */
import type { AttributionRule } from '../match/rule.js';
import { CONDA, DIST, moduleCall, SCRIPT, VENV } from './sample-tails.js';

const READ = 'torch 2.13.0 and 2.14.1 wheels';
const DDP = 'torch/nn/parallel/distributed.py';

export const TORCH_PARALLEL_OWNERS: readonly AttributionRule[] = [
  {
    id: 'torch.ddp-bucket',
    component: 'communication',
    sub_component: 'ddp_bucket',
    // The reducer makes its buckets when it is built and again, in the order of the gradients, before the second forward pass. With `gradient_as_bucket_view` the gradients live in them.
    at: [
      { file: DDP, function: ['_ddp_init_helper', '_pre_forward', '_setup_in_backward_optimizers'] },
      { function: ['c10d::Reducer::initialize_bucket*', 'c10d::Reducer::rebuild_buckets*', 'c10d::Reducer::Reducer*'] },
    ],
    source: `torch/nn/parallel/distributed.py _ddp_init_helper, _pre_forward (reducer._rebuild_buckets), ${READ}; torch/csrc/distributed/c10d/reducer.cpp Reducer::initialize_buckets (excerpts of several versions)`,
    samples: [
      {
        frames: [`_ddp_init_helper ${CONDA}/${DDP}`, `__init__ ${CONDA}/${DDP}`, ...SCRIPT],
        from: `torch/nn/parallel/distributed.py _ddp_init_helper, ${READ}`,
      },
      {
        frames: [
          'at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>, std::optional<c10::ScalarType>, std::optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>, std::optional<c10::MemoryFormat>)',
          'c10d::Reducer::initialize_buckets(std::vector<std::vector<unsigned long, std::allocator<unsigned long> >, std::allocator<std::vector<unsigned long, std::allocator<unsigned long> > > >)',
          'c10d::Reducer::rebuild_buckets()',
          `_pre_forward ${VENV}/${DDP}`,
          `forward ${VENV}/${DDP}`,
          ...moduleCall(VENV),
          ...SCRIPT,
        ],
        from: 'torch/csrc/distributed/c10d/reducer.cpp Reducer::initialize_buckets (excerpt)',
      },
    ],
  },
  {
    id: 'torch.ddp-reduce',
    component: 'communication',
    sub_component: 'ddp_reduce',
    at: [
      { function: 'c10d::Reducer::*' },
      { file: 'torch/distributed/algorithms/ddp_comm_hooks/**' },
      {
        file: DDP,
        function: [
          '_sync_module_states',
          '_sync_buffers',
          '_sync_module_buffers',
          '_distributed_broadcast_coalesced',
          '_default_broadcast_coalesced',
        ],
      },
      {
        file: 'torch/distributed/utils.py',
        function: ['_sync_module_states', '_sync_params_and_buffers', '_verify_param_shape_across_processes'],
      },
    ],
    source: `torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py fp16_compress_hook; torch/distributed/utils.py _sync_params_and_buffers, ${READ}; torch/csrc/distributed/c10d/reducer.cpp (excerpts)`,
    samples: [
      {
        frames: [
          `_compress_hook ${DIST}/torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py`,
          `fp16_compress_hook ${DIST}/torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py`,
        ],
        from: `torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py _compress_hook, ${READ}`,
      },
      {
        frames: [
          `_sync_params_and_buffers ${CONDA}/torch/distributed/utils.py`,
          `_sync_module_states ${CONDA}/torch/distributed/utils.py`,
          `__init__ ${CONDA}/${DDP}`,
          ...SCRIPT,
        ],
        from: `torch/distributed/utils.py _sync_params_and_buffers, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.ddp-mixed-precision',
    component: 'parameter',
    sub_component: 'low_precision_copy',
    at: { file: DDP, function: ['_setup_mixed_precision_params', '_cast_buffers', '_root_copy_hook'] },
    source: `torch/nn/parallel/distributed.py _setup_mixed_precision_params, ${READ}`,
    samples: [
      {
        frames: [`_setup_mixed_precision_params ${VENV}/${DDP}`, `__init__ ${VENV}/${DDP}`, ...SCRIPT],
        from: `torch/nn/parallel/distributed.py _setup_mixed_precision_params, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.parallel-input',
    component: 'input',
    sub_component: 'batch',
    at: [
      { file: 'torch/nn/parallel/scatter_gather.py', function: ['scatter*', 'scatter'] },
      { file: 'torch/nn/parallel/comm.py', function: 'scatter' },
      { file: 'torch/distributed/utils.py', function: ['_to_kwargs', '_recursive_to', 'to_map'] },
    ],
    source: `torch/nn/parallel/scatter_gather.py scatter; torch/distributed/utils.py _recursive_to, ${READ}`,
    samples: [
      {
        frames: [
          `to_map ${CONDA}/torch/distributed/utils.py`,
          `_recursive_to ${CONDA}/torch/distributed/utils.py`,
          `_to_kwargs ${CONDA}/torch/distributed/utils.py`,
          `_pre_forward ${CONDA}/${DDP}`,
          `forward ${CONDA}/${DDP}`,
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: `torch/distributed/utils.py _recursive_to, ${READ}`,
      },
      {
        frames: [
          `scatter ${DIST}/torch/nn/parallel/comm.py`,
          `forward ${DIST}/torch/nn/parallel/_functions.py`,
          `apply ${DIST}/torch/autograd/function.py`,
          `scatter_map ${DIST}/torch/nn/parallel/scatter_gather.py`,
          `scatter ${DIST}/torch/nn/parallel/scatter_gather.py`,
          `scatter_kwargs ${DIST}/torch/nn/parallel/scatter_gather.py`,
          `scatter ${DIST}/torch/nn/parallel/data_parallel.py`,
          `forward ${DIST}/torch/nn/parallel/data_parallel.py`,
          ...moduleCall(DIST),
          ...SCRIPT,
        ],
        from: `torch/nn/parallel/scatter_gather.py scatter_map, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.replica',
    component: 'parameter',
    sub_component: 'replica',
    at: { file: 'torch/nn/parallel/replicate.py', function: ['_broadcast_coalesced_reshape', 'replicate'] },
    source: `torch/nn/parallel/replicate.py replicate, ${READ}`,
    samples: [
      {
        frames: [
          `broadcast_coalesced ${VENV}/torch/nn/parallel/comm.py`,
          `forward ${VENV}/torch/nn/parallel/_functions.py`,
          `apply ${VENV}/torch/autograd/function.py`,
          `_broadcast_coalesced_reshape ${VENV}/torch/nn/parallel/replicate.py`,
          `replicate ${VENV}/torch/nn/parallel/replicate.py`,
          `replicate ${VENV}/torch/nn/parallel/data_parallel.py`,
          `forward ${VENV}/torch/nn/parallel/data_parallel.py`,
          ...moduleCall(VENV),
          ...SCRIPT,
        ],
        from: `torch/nn/parallel/replicate.py _broadcast_coalesced_reshape, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.replica-gradient',
    component: 'gradient',
    sub_component: 'replica_gradient',
    at: [{ file: 'torch/nn/parallel/comm.py', function: ['reduce_add', 'reduce_add_coalesced'] }],
    source: `torch/nn/parallel/_functions.py Broadcast.backward, comm.py reduce_add_coalesced, ${READ}`,
    samples: [
      {
        frames: [
          `reduce_add_coalesced ${CONDA}/torch/nn/parallel/comm.py`,
          `forward ${CONDA}/torch/nn/parallel/_functions.py`,
          `apply ${CONDA}/torch/autograd/function.py`,
          `backward ${CONDA}/torch/nn/parallel/_functions.py`,
          `apply ${CONDA}/torch/autograd/function.py`,
        ],
        from: `torch/nn/parallel/_functions.py Broadcast.backward, ${READ}`,
      },
    ],
  },
  {
    id: 'torch.gathered-output',
    component: 'activation',
    sub_component: 'gathered_output',
    at: [
      { file: 'torch/nn/parallel/comm.py', function: 'gather' },
      { file: 'torch/nn/parallel/scatter_gather.py', function: ['gather', 'gather_map'] },
    ],
    source: `torch/nn/parallel/scatter_gather.py gather, ${READ}`,
    samples: [
      {
        frames: [
          `gather ${DIST}/torch/nn/parallel/comm.py`,
          `forward ${DIST}/torch/nn/parallel/_functions.py`,
          `apply ${DIST}/torch/autograd/function.py`,
          `gather_map ${DIST}/torch/nn/parallel/scatter_gather.py`,
          `gather ${DIST}/torch/nn/parallel/scatter_gather.py`,
          `gather ${DIST}/torch/nn/parallel/data_parallel.py`,
          `forward ${DIST}/torch/nn/parallel/data_parallel.py`,
          ...moduleCall(DIST),
          ...SCRIPT,
        ],
        from: `torch/nn/parallel/scatter_gather.py gather, ${READ}`,
      },
    ],
  },
];

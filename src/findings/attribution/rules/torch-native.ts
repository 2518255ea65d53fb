/** What C++ frames say: library workspaces, NCCL, accumulated gradients; and what graph capture makes for itself. That a private pool is a graph's is inferred, not a rule. */
import type { AttributionRule } from '../match/rule.js';
import { CONDA, DIST, moduleCall, SCRIPT, VENV } from './sample-tails.js';

const READ = 'torch 2.13.0 and 2.14.1 wheels';
const ENGINE = [
  'torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&, torch::autograd::Node*, torch::autograd::InputBuffer&, std::shared_ptr<torch::autograd::ReadyQueue> const&)',
  'torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)',
  'torch::autograd::Engine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue> const&, bool)',
];

export const TORCH_NATIVE_OWNERS: readonly AttributionRule[] = [
  {
    id: 'torch.cublas-workspace',
    component: 'workspace',
    sub_component: 'cublas',
    at: {
      function: [
        'at::cuda::getNewWorkspace*',
        'at::cuda::getCUDABlasLtWorkspace*',
        'at::cuda::getNewCUDABlasLtWorkspace*',
        'at::cuda::*blas*Workspace*',
      ],
    },
    source:
      'aten/src/ATen/cuda/CublasHandlePool.cpp getNewWorkspace, getCUDABlasLtWorkspace (excerpts of several versions, 2.0 to 2.13)',
    samples: [
      {
        frames: [
          'c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)',
          'at::cuda::getNewWorkspace()',
          'at::cuda::getCurrentCUDABlasHandle()',
          'at::native::addmm_out_cuda_impl(at::Tensor&, at::Tensor const&, at::Tensor const&, at::Tensor const&, c10::Scalar const&, c10::Scalar const&, at::native::Activation) Blas.cpp',
          `forward ${CONDA}/torch/nn/modules/linear.py`,
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: 'aten/src/ATen/cuda/CublasHandlePool.cpp getNewWorkspace (excerpt)',
      },
      {
        frames: [
          'at::cuda::getCUDABlasLtWorkspace()',
          'at::cuda::blas::gemm_and_bias<c10::BFloat16>(bool, bool, long, long, long, float, c10::BFloat16 const*, long, c10::BFloat16 const*, long, c10::BFloat16 const*, c10::BFloat16*, long, at::cuda::blas::GEMMAndBiasActivationEpilogue)',
          `forward ${VENV}/torch/nn/modules/linear.py`,
          ...moduleCall(VENV),
          ...SCRIPT,
        ],
        from: 'aten/src/ATen/cuda/CUDABlas.cpp CublasLtWorkspace, CublasHandlePool.cpp getCUDABlasLtWorkspace (excerpts)',
      },
    ],
  },
  {
    id: 'torch.cudnn-workspace',
    component: 'workspace',
    sub_component: 'cudnn',
    at: {
      function: [
        'at::native::run_conv_plan*',
        'at::native::*try_plans*',
        'at::native::*raw_cudnn_convolution*',
        'at::native::*cudnn_convolution*orkspace*',
        'at::native::*run_cudnn_*',
        '*at::native::*Workspace::Workspace*',
        '*cudnn*workspace*',
      ],
    },
    through: {
      function: [
        'c10::cuda::CUDACachingAllocator::*allocate*',
        '*NativeCachingAllocator::allocate*',
        '*CUDACachingAllocator::Native::*',
      ],
    },
    source: 'aten/src/ATen/native/cudnn/Conv_v8.cpp run_conv_plan (excerpt)',
    samples: [
      {
        frames: [
          'c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)',
          'at::native::run_conv_plan(cudnnContext*, at::Tensor const&, at::Tensor const&, at::Tensor const&, cudnn_frontend::ExecutionPlan_v8 const&, long) Conv_v8.cpp',
          `_conv_forward ${CONDA}/torch/nn/modules/conv.py`,
          `forward ${CONDA}/torch/nn/modules/conv.py`,
          ...moduleCall(CONDA),
          ...SCRIPT,
        ],
        from: 'aten/src/ATen/native/cudnn/Conv_v8.cpp run_conv_plan (excerpt)',
      },
    ],
  },
  {
    id: 'torch.nccl',
    component: 'communication',
    sub_component: 'nccl',
    at: {
      function: [
        'c10d::ProcessGroupNCCL::*',
        'c10d::*NCCL*::*',
        'c10d::nccl_extension::*',
        'c10d::symmetric_memory::*',
      ],
    },
    source: 'torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp (head of the file)',
    samples: [
      {
        frames: [
          'at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>, std::optional<c10::ScalarType>, std::optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>, std::optional<c10::MemoryFormat>)',
          'c10d::ProcessGroupNCCL::allgather(std::vector<std::vector<at::Tensor, std::allocator<at::Tensor> >, std::allocator<std::vector<at::Tensor, std::allocator<at::Tensor> > > >&, std::vector<at::Tensor, std::allocator<at::Tensor> >&, c10d::AllgatherOptions const&)',
          `all_gather ${VENV}/torch/distributed/distributed_c10d.py`,
          `wrapper ${VENV}/torch/distributed/c10d_logger.py`,
          ...SCRIPT,
        ],
        from: 'torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp ProcessGroupNCCL::allgather (not read)',
      },
    ],
  },
  {
    id: 'torch.graph-static-buffer',
    component: 'graph_pool',
    sub_component: 'static_buffer',
    at: [
      { file: 'torch/cuda/graphs.py', function: ['make_graphed_callables', 'capture_begin'] },
      { file: 'torch/_inductor/cudagraph_trees.py' },
      { file: 'torch/_inductor/compile_fx.py', function: ['cudagraphify*', 'static_input'] },
    ],
    when: { pool: 'private' },
    phase: 'graph_capture',
    source: `torch/cuda/graphs.py make_graphed_callables; torch/_inductor/cudagraph_trees.py CUDAGraphNode._record, ${READ}`,
    samples: [
      {
        frames: [`make_graphed_callables ${DIST}/torch/cuda/graphs.py`, ...SCRIPT],
        from: `torch/cuda/graphs.py make_graphed_callables (static gradients), ${READ}`,
        pool: 'private',
      },
      {
        frames: [
          'call /tmp/torchinductor_user/xy/cxyzabcdefgh.py',
          `_record ${VENV}/torch/_inductor/cudagraph_trees.py`,
          `__init__ ${VENV}/torch/_inductor/cudagraph_trees.py`,
          `record_function ${VENV}/torch/_inductor/cudagraph_trees.py`,
          `_run ${VENV}/torch/_inductor/cudagraph_trees.py`,
          `run ${VENV}/torch/_inductor/cudagraph_trees.py`,
          'forward /home/user/project/model.py',
          ...SCRIPT,
        ],
        from: `torch/_inductor/cudagraph_trees.py CUDAGraphNode._record, ${READ}`,
        pool: 'private',
      },
    ],
  },
];

export const TORCH_NATIVE_LAYERS: readonly AttributionRule[] = [
  {
    id: 'torch.accumulate-grad',
    component: 'gradient',
    sub_component: 'parameter_gradient',
    at: { function: ['torch::autograd::AccumulateGrad::apply*', '*torch::autograd::AccumulateGrad::accumulateGrad*'] },
    phase: 'backward',
    source: 'torch/csrc/autograd/functions/accumulate_grad.h AccumulateGrad::accumulateGrad, torch 2.14.1 wheel',
    samples: [
      {
        frames: [
          'at::_ops::clone::call(at::Tensor const&, std::optional<c10::MemoryFormat>)',
          'torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)',
          'torch::autograd::Node::operator()(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)',
          ...ENGINE,
        ],
        from: 'torch/csrc/autograd/functions/accumulate_grad.h AccumulateGrad, torch 2.14.1 wheel',
      },
    ],
  },
  {
    id: 'torch.autocast-copy',
    component: 'activation',
    sub_component: 'autocast_copy',
    // Weights are cast once per autocast region and kept for it; inputs are cast at every use.
    at: { function: 'at::autocast::cached_cast*' },
    without: [
      { file: ['torch/nn/modules/loss.py', 'transformers/loss/*.py'] },
      { function: ['*cross_entropy*', 'nll_loss', 'loss_fn', 'log_softmax'] },
    ],
    source: 'aten/src/ATen/autocast_mode.h cached_cast, torch 2.14.1 wheel',
    samples: [
      {
        frames: [
          'at::_ops::_to_copy::call(at::Tensor const&, std::optional<c10::ScalarType>, std::optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>, bool, std::optional<c10::MemoryFormat>)',
          'at::_ops::to_dtype::call(at::Tensor const&, c10::ScalarType, bool, bool, std::optional<c10::MemoryFormat>)',
          'at::autocast::cached_cast(c10::ScalarType, at::Tensor const&, c10::DeviceType)',
          `forward ${DIST}/torch/nn/modules/linear.py`,
          ...moduleCall(DIST),
          ...SCRIPT,
        ],
        from: 'aten/src/ATen/autocast_mode.h cached_cast, torch 2.14.1 wheel',
      },
    ],
  },
];

/**
 * Stacks of the host at calls for memory, as `--cudabacktrace=memory` records them: what names the library that asked.
 */
import type { DriverCall, DriverCaller } from '../../simulate/profile/recording.js';
import type { Frame } from './capture.js';

const SITE = '/opt/venv/lib/python3.12/site-packages';
const RUNTIME = `${SITE}/nvidia/cu13/lib/libcudart.so.13`;
const C10 = `${SITE}/torch/lib/libc10_cuda.so`;
const TORCH = `${SITE}/torch/lib/libtorch_cuda.so`;
const TORCH_CPU = `${SITE}/torch/lib/libtorch_cpu.so`;
const NCCL = `${SITE}/nvidia/nccl/lib/libnccl.so.2`;
const LIBC = '/usr/lib/x86_64-linux-gnu/libc.so.6';

/** The planted captures of the tests have two more. */
export type ChainCaller = DriverCaller | 'cudnn' | 'pinned';

type Frames = readonly (readonly [symbol: string, module: string])[];

const ALLOCATOR = 'c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator';
const PYTHON: Frames = [['_PyEval_EvalFrameDefault', '/usr/bin/python3.12']];
const ASKING: Frames = [
  [`${ALLOCATOR}::alloc_block`, C10],
  [`${ALLOCATOR}::malloc`, C10],
  ['at::detail::empty_cuda', TORCH],
];
const FLUSHING: Frames = [
  [`${ALLOCATOR}::release_block`, C10],
  [`${ALLOCATOR}::release_cached_blocks`, C10],
  [`${ALLOCATOR}::malloc`, C10],
  ['at::detail::empty_cuda', TORCH],
];
const ENGINE: Frames = [
  ['torch::autograd::Engine::evaluate_function', TORCH_CPU],
  ['torch::autograd::Engine::thread_main', TORCH_CPU],
  ['start_thread', LIBC],
];

/** A library without symbols has an address instead. */
const STRIPPED: Frames = [['0x7ec000029d90', LIBC]];

/** Innermost first, below the CUDA runtime. Torch is further out in NCCL's and cuBLAS' own, too. */
const CHAINS: Readonly<Record<ChainCaller, Readonly<Record<DriverCall['kind'], Frames>>>> = {
  torch: { malloc: [...ASKING, ...PYTHON], free: [...FLUSHING, ...PYTHON] },
  torch_backward: { malloc: [...ASKING, ...ENGINE], free: [...FLUSHING, ...ENGINE] },
  nccl_init: always([
    ['ncclCudaCallocDebug', NCCL],
    ['ncclCommInitRankFunc', NCCL],
    ['ncclCommInitRankConfig', NCCL],
    ['c10d::ProcessGroupNCCL::initNCCLComm', TORCH],
    ...PYTHON,
  ]),
  nccl_connect: always([
    ['ncclCudaCallocDebug', NCCL],
    ['ncclTransportP2pSetup', NCCL],
    ['ncclGroupEndInternal', NCCL],
    ['c10d::ProcessGroupNCCL::groupEnd', TORCH],
    ...PYTHON,
  ]),
  nccl_proxy: always([
    ['ncclP2pAllocateShareableBuffer', NCCL],
    ['p2pRecvProxySetup', NCCL],
    ['ncclProxyService', NCCL],
    ['start_thread', LIBC],
  ]),
  cublas: always([
    ['cublasCreate_v2', `${SITE}/nvidia/cu13/lib/libcublas.so.13`],
    ['at::cuda::getCurrentCUDABlasHandle', TORCH],
    ...PYTHON,
  ]),
  cudnn: always([
    ['cudnnBackendExecute', `${SITE}/nvidia/cudnn/lib/libcudnn_graph.so.9`],
    ['at::native::cudnn_convolution', TORCH],
    ...PYTHON,
    ...STRIPPED,
  ]),
  pinned: always([['at::cuda::CachingHostAllocatorImpl::allocate_host_memory', TORCH], ...PYTHON, ...STRIPPED]),
};

function always(frames: Frames): Readonly<Record<DriverCall['kind'], Frames>> {
  return { malloc: frames, free: frames };
}

/** Numbers of chains, in the order of their first use. */
export class CallChains {
  readonly frames: Frame[] = [];
  private readonly numbers = new Map<string, number>();

  of({ caller, kind }: { readonly caller: ChainCaller; readonly kind: DriverCall['kind'] }): number {
    const key = `${caller} ${kind}`;
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    const callchain = this.numbers.size + 1;
    this.numbers.set(key, callchain);
    const call: Frames = [[kind === 'malloc' ? 'cudaMalloc' : 'cudaFree', RUNTIME]];
    for (const [depth, [symbol, module]] of [...call, ...CHAINS[caller][kind]].entries()) {
      const address = CallChains.address(callchain, depth);
      const isUnresolved = symbol.startsWith('0x');
      this.frames.push({ callchain, depth, symbol, module, isUnresolved, address });
    }
    return callchain;
  }

  /** Depth 1 is the library that called the runtime. */
  static address(chain: number, depth = 1): number {
    return 0x7ec0_0000_0000 + chain * 0x10_0000 + depth * 0x5c10;
  }
}

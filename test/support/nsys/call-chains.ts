/**
 * Stacks of the host at calls for memory, as `--cudabacktrace=memory` records them: what names the library that asked.
 */
import type { Frame } from '../../../samples/generate/write/nsys/capture.js';
import type { Owner } from './rows.js';

const SITE = '/opt/venv/lib/python3.12/site-packages';

interface Chain {
  /** The library that decides, and the address of its code. */
  readonly module: string;
  readonly pc: number;
  /** Innermost first, below the CUDA runtime. */
  readonly frames: readonly (readonly [symbol: string, module: string])[];
}

const PYTHON: readonly (readonly [string, string])[] = [['_PyEval_EvalFrameDefault', '/usr/bin/python3.12']];
const TORCH_CUDA = `${SITE}/torch/lib/libtorch_cuda.so`;
const TORCH: Chain['frames'] = [['at::empty_cuda', TORCH_CUDA], ...PYTHON];

/** Torch is further out in the chains of NCCL and cuBLAS, too: the innermost library is the one that asked. */
const CHAINS: Readonly<Partial<Record<Owner, Chain>>> = {
  torch: {
    module: `${SITE}/torch/lib/libc10_cuda.so`,
    pc: 0x7ec0_1000_2110,
    frames: [['c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc', ''], ...TORCH],
  },
  nccl: {
    module: `${SITE}/nvidia/nccl/lib/libnccl.so.2`,
    pc: 0x7ec0_2000_5a40,
    frames: [
      ['ncclCudaCallocDebug', ''],
      ['ncclCommInitRankFunc', ''],
      ['c10d::ProcessGroupNCCL::initNCCLComm', TORCH_CUDA],
      ...PYTHON,
    ],
  },
  cublas: {
    module: `${SITE}/nvidia/cublas/lib/libcublasLt.so.12`,
    pc: 0x7ec0_3000_91c0,
    frames: [['cublasLtCreate', ''], ['at::cuda::blas::gemm', TORCH_CUDA], ...PYTHON],
  },
  cudnn: {
    module: `${SITE}/nvidia/cudnn/lib/libcudnn_graph.so.9`,
    pc: 0x7ec0_4000_77e0,
    frames: [['cudnnBackendExecute', ''], ['at::native::cudnn_convolution', TORCH_CUDA], ...PYTHON],
  },
  pinned: {
    module: TORCH_CUDA,
    pc: 0x7ec0_5000_3300,
    frames: [['at::cuda::CachingHostAllocatorImpl::allocate_host_memory', ''], ...PYTHON],
  },
};

/** Each chain is written once, when it is first used; its last frame lacks a symbol, as in stripped libraries. */
export function createCallChains(frames: Frame[]) {
  const ids = new Map<Owner, number>();
  return {
    /** Number of the chain and the library that called; null where no chain was recorded. */
    of(owner: Owner): { readonly id: number; readonly module: string } | null {
      const chain = CHAINS[owner];
      if (chain === undefined) return null;
      let id = ids.get(owner);
      if (id === undefined) {
        id = ids.size + 1;
        ids.set(owner, id);
        const all = [['cudaMalloc', `${SITE}/nvidia/cuda_runtime/lib/libcudart.so.12`] as const, ...chain.frames];
        const last = ['0x7ec000029d90', '/usr/lib/x86_64-linux-gnu/libc.so.6'] as const;
        for (const [depth, [symbol, module]] of [...all, last].entries()) {
          const address = 0x7ec0_0000_0000 + id * 0x1000 + depth * 16;
          const isUnresolved = depth === all.length;
          frames.push({ callchain: id, depth, symbol, module: module || chain.module, isUnresolved, address });
        }
      }
      return { id, module: chain.module };
    },
    /** Program counter of the caller; 0 where it is unknown. */
    pc: (owner: Owner): number => (owner === 'other' ? 0 : (CHAINS[owner]?.pc ?? 0x7ec0_6000_0010)),
  };
}
export type CallChains = ReturnType<typeof createCallChains>;

/**
 * The owner of an allocation of the driver. The first rule that holds decides; its id is the evidence. A rule's input
 * may not have been captured: the call chain needs `--cudabacktrace=memory`, library calls `-t cublas,cudnn`, ranges
 * `-t nvtx`. Sizes decide nothing: NCCL's buffers, workspaces and PyTorch's segments have the same ones.
 */
import type { DriverOwner } from '../../model/results/nsys.js';
import type { DriverAllocation } from './driver-allocation.js';

export interface OwnerFacts extends DriverAllocation {
  /** A memory snapshot of this process shows it as a segment. */
  readonly isTorchSegment: boolean;
  /** A snapshot of this process recorded it if it is PyTorch's: what it does not show is not. */
  readonly hasSnapshot: boolean;
}

export interface OwnerRule {
  readonly id: string;
  readonly owner: DriverOwner;
  /** Completes "known by …". */
  readonly title: string;
  readonly holds: (allocation: OwnerFacts) => boolean;
}

const MIB = 1024 ** 2;

/** CUDA's own libraries, and the profiler's, which are innermost in every call chain. */
const CUDA_ITSELF = /(?:^|\/)lib(?:cuda|cudart|cupti|ToolsInjection)[^/]*\.so/i;

/** A frame of one of these libraries, with any caller. */
function module(id: string, owner: DriverOwner, pattern: RegExp): OwnerRule {
  return {
    id: `module:${id}`,
    owner,
    title: `a frame of ${id} in the call chain`,
    holds: ({ modules }) => modules.some((name) => pattern.test(name)),
  };
}

export const OWNER_RULES: readonly OwnerRule[] = [
  {
    id: 'segment',
    owner: 'torch',
    title: 'a segment of the memory snapshot with its address, size and time',
    holds: ({ isTorchSegment }) => isTorchSegment,
  },
  {
    id: 'kind:static',
    owner: 'static',
    title: 'its kind: a static variable of a module',
    holds: ({ kind }) => kind === 'device_static' || kind === 'managed_static',
  },
  { id: 'kind:managed', owner: 'managed', title: 'its kind: managed memory', holds: ({ kind }) => kind === 'managed' },
  {
    id: 'kind:pinned',
    owner: 'pinned_host',
    title: 'its kind: pinned memory of the host',
    holds: ({ kind }) => kind === 'pinned',
  },
  {
    id: 'pool',
    owner: 'async_pool',
    title: 'its pool: memory of cudaMallocAsync',
    holds: ({ isInPool, api }) =>
      isInPool || /^(?:cudaMalloc(?:FromPool)?Async|cuMemAlloc(?:FromPool)?Async)/.test(api ?? ''),
  },
  {
    id: 'module:libc10_cuda',
    owner: 'torch_unmatched',
    title: "PyTorch's allocator right above CUDA in the call chain",
    holds: ({ modules }) => /(?:^|\/)libc10_(?:cuda|hip)\b/.test(modules.find((name) => !CUDA_ITSELF.test(name)) ?? ''),
  },
  module('libnccl', 'nccl', /(?:^|\/)lib(?:nccl|rccl)\b/i),
  module('libnvshmem', 'nvshmem', /(?:^|\/)(?:lib)?nvshmem/i),
  module('libcublas', 'cublas', /(?:^|\/)libcublas(?:Lt)?\b/i),
  module('libcudnn', 'cudnn', /(?:^|\/)libcudnn/i),
  module(
    'another CUDA library',
    'other_library',
    /(?:^|\/)lib(?:cufft|cusolver|cusparse|curand|nvjpeg|npp|cutensor|cudss)/i,
  ),
  {
    id: 'api:graph',
    owner: 'graph',
    title: 'a call that makes or uploads a CUDA graph',
    holds: ({ api }) => /^(?:cudaGraph|cuGraph)/.test(api ?? ''),
  },
  {
    id: 'api:context',
    owner: 'context',
    title: 'a call that makes a context or loads code',
    holds: ({ api }) =>
      /^(?:cuCtx|cuDevicePrimaryCtx|cuGreenCtx|cudaSetDevice|cudaInitDevice|cuModuleLoad|cuLibraryLoad|cudaLibraryLoad|cudaFuncGet|cudaDeviceSetLimit)/.test(
        api ?? '',
      ),
  },
  {
    id: 'library:cublas',
    owner: 'cublas',
    title: 'a call of cuBLAS around it',
    holds: ({ library }) => library === 'cublas',
  },
  {
    id: 'library:cudnn',
    owner: 'cudnn',
    title: 'a call of cuDNN around it',
    holds: ({ library }) => library === 'cudnn',
  },
  {
    id: 'library:nvshmem',
    owner: 'nvshmem',
    title: 'a call of NVSHMEM around it',
    holds: ({ library, ranges }) => library === 'nvshmem' || ranges.some((text) => /^nvshmem/i.test(text)),
  },
  {
    id: 'library:other',
    owner: 'other_library',
    title: 'a call of a library around it',
    holds: ({ library }) => library !== null && library !== 'openacc',
  },
  {
    id: 'range:graph',
    owner: 'graph',
    title: 'a range that names the making of a CUDA graph',
    holds: ({ ranges }) => ranges.some((text) => /^cudaGraph(?:Instantiate|Upload)/.test(text)),
  },
  {
    id: 'range:nccl',
    owner: 'nccl',
    title: "a range of NCCL's around it",
    holds: ({ isInNccl, ranges }) => isInNccl || ranges.some((text) => /^(?:pn|n|r)ccl[A-Z]/.test(text)),
  },
  {
    id: 'thread:nccl',
    owner: 'nccl',
    title: "a thread of NCCL's",
    holds: ({ thread }) => /(?<!pt_)nccl/i.test(thread ?? '') && !/watchdo?g|heartb/i.test(thread ?? ''),
  },
  {
    id: 'segment_size',
    owner: 'torch_unmatched',
    title: "in no snapshot's recording; cudaMalloc of a size that PyTorch's segments have",
    // c10/cuda/CUDACachingAllocator: 2 MiB, 20 MiB, or a multiple of 2 MiB from 10 MiB on.
    holds: ({ hasSnapshot, api, kind, bytes }) =>
      !hasSnapshot &&
      kind === 'device' &&
      (api === 'cudaMalloc' || api === null) &&
      bytes % (2 * MIB) === 0 &&
      (bytes === 2 * MIB || bytes >= 10 * MIB),
  },
];

/** Allocations that no rule matches. */
export const NO_RULE = 'none';

export function ownerOf(allocation: OwnerFacts): { readonly owner: DriverOwner; readonly rule: string } {
  const rule = OWNER_RULES.find(({ holds }) => holds(allocation));
  return rule === undefined ? { owner: 'other', rule: NO_RULE } : { owner: rule.owner, rule: rule.id };
}

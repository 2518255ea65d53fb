/**
 * Rows of a planted Nsight Systems report. Times are ns of the report's clock: 0 is the start of the collection, and no row before it but those that
 * name NVTX domains. Process and thread numbers are the operating system's; the writer makes serialized ids of them.
 */
import type { MemoryKind } from '../../../src/model/nsys-rows.js';

/** `memKind` by name; spelt out here so that no mapping under test decides what is planted. */
export const KIND_NUMBERS = {
  pageable: 0,
  pinned: 1,
  device: 2,
  array: 3,
  managed: 4,
  device_static: 5,
  managed_static: 6,
  unknown: 7,
} as const satisfies Record<MemoryKind, number>;

export const COPY = { hostToDevice: 1, deviceToHost: 2, deviceToDevice: 8, peerToPeer: 10 } as const;
export const NVTX = { mark: 34, pushPop: 59, startEnd: 60, domain: 75 } as const;
/** cudaErrorMemoryAllocation and CUDA_ERROR_OUT_OF_MEMORY alike. */
export const OUT_OF_MEMORY = 2;
/** cudaErrorNotReady: what a query answers while the GPU is busy, and no failure. */
export const NOT_READY = 600;

export type Owner =
  | 'torch'
  | 'nccl'
  | 'cublas'
  | 'cudnn'
  | 'pinned'
  | 'managed'
  | 'static'
  | 'async_pool'
  | 'graph'
  | 'other';

export interface ThreadPlan {
  readonly tid: number;
  /** Null: not in ThreadNames. */
  readonly name: string | null;
}

export interface ApiCall {
  readonly pid: number;
  readonly tid: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly correlation: number;
  readonly name: string;
  readonly returnValue: number;
  readonly isDriver: boolean;
  readonly callchain: number | null;
}

/** State of a pool of cudaMallocAsync after an operation. */
export interface PoolState {
  readonly address: number;
  readonly thresholdBytes: number;
  readonly bytes: number;
  readonly usedBytes: number;
}

/** What the generator knows of a memory event and its call; no column says it. */
export interface MemoryLabel {
  readonly owner: Owner;
  readonly api: string;
  /** Push/pop ranges open on the calling thread when the call began, outermost first. */
  readonly nvtxPath: readonly string[];
  readonly tid: number;
  readonly threadName: string | null;
  /** The library that called, as the call chain names it; null: no call chain. */
  readonly module: string | null;
}

export interface MemoryEvent {
  readonly pid: number;
  readonly device: number;
  readonly startNs: number;
  readonly isFree: boolean;
  readonly kind: MemoryKind;
  readonly address: number;
  readonly bytes: number;
  readonly pc: number;
  readonly name: string | null;
  readonly correlation: number;
  readonly stream: number | null;
  readonly pool: PoolState | null;
  readonly label: MemoryLabel;
}

export interface PoolEvent {
  readonly pid: number;
  readonly device: number;
  readonly startNs: number;
  /** 1 created, 2 destroyed, 3 trimmed. */
  readonly operation: 1 | 2 | 3;
  readonly correlation: number;
  readonly minBytesToKeep: number | null;
  readonly pool: PoolState;
}

/** Work on a stream of the GPU. */
interface GpuWork {
  readonly pid: number;
  readonly device: number;
  readonly stream: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly correlation: number;
}

export interface Kernel extends GpuWork {
  readonly shortName: string;
  readonly demangledName: string;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly registers: number;
  readonly localBytesPerThread: number;
}

export interface Memcpy extends GpuWork {
  readonly bytes: number;
  readonly copyKind: number;
  readonly sourceKind: MemoryKind;
  readonly targetKind: MemoryKind;
  readonly sourceDevice: number | null;
  readonly targetDevice: number | null;
}

export interface Memset extends GpuWork {
  readonly bytes: number;
  readonly value: number;
}

export interface Synchronization extends GpuWork {
  /** 1 event, 2 stream waits for event, 3 stream, 4 context. */
  readonly syncType: number;
  readonly event: number;
}

export interface GraphLaunch extends GpuWork {
  readonly graph: number;
  readonly graphExec: number;
}

export interface NvtxEvent {
  readonly pid: number;
  readonly tid: number;
  readonly type: number;
  readonly startNs: number;
  /** Set when the range is closed; null for marks, domains and ranges never closed. */
  endNs: number | null;
  readonly endTid: number | null;
  readonly text: string;
  /** A string NVTX registered: stands in StringIds, not in the row. */
  readonly isRegistered: boolean;
  readonly domain: number;
  readonly rangeId: number | null;
}

export interface LibraryCall {
  readonly library: 'cublas' | 'cudnn';
  readonly pid: number;
  readonly tid: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly name: string;
}

/** One frame of a call chain; depth 0 is the innermost. */
export interface Frame {
  readonly callchain: number;
  readonly depth: number;
  readonly symbol: string;
  readonly module: string;
  readonly isUnresolved: boolean;
}

export interface Diagnostic {
  readonly startNs: number;
  /** 1 info, 2 warning, 3 error. */
  readonly severity: 1 | 2 | 3;
  readonly text: string;
  readonly pid: number | null;
}

/** A call that wanted memory and got none. */
export interface FailedRequest {
  readonly pid: number;
  readonly tid: number;
  readonly threadName: string | null;
  readonly api: string;
  readonly atNs: number;
  /** No column says how much was asked. */
  readonly bytes: number;
  readonly owner: Owner;
  readonly nvtxPath: readonly string[];
}

/** Rows as they are recorded: process by process, so not in the order of time. */
export interface Recording {
  readonly api: ApiCall[];
  readonly memory: MemoryEvent[];
  readonly pool: PoolEvent[];
  readonly kernels: Kernel[];
  readonly copies: Memcpy[];
  readonly memsets: Memset[];
  readonly syncs: Synchronization[];
  readonly graphs: GraphLaunch[];
  readonly nvtx: NvtxEvent[];
  readonly library: LibraryCall[];
  readonly frames: Frame[];
  readonly diagnostics: Diagnostic[];
  readonly failures: FailedRequest[];
}

export function emptyRecording(): Recording {
  return {
    api: [],
    memory: [],
    pool: [],
    kernels: [],
    copies: [],
    memsets: [],
    syncs: [],
    graphs: [],
    nvtx: [],
    library: [],
    frames: [],
    diagnostics: [],
    failures: [],
  };
}

/**
 * What Nsight Systems captures, and its rows in an export. Times are ns of the report's clock, 0 at the start of the
 * collection. Process and thread numbers are the operating system's; the rows have serialised ids.
 */
import type { MemoryKind } from '../../../../src/model/nsys-rows.js';
import { type Cell, dataFile, type NsysSchema, RELEASES, type Row, type Rows } from './database.js';

/** `memKind` by name; not imported from the reader, so that a test of its mapping decides something. */
const KIND_NUMBERS: Readonly<Record<MemoryKind, number>> = {
  ...{ pageable: 0, pinned: 1, device: 2, array: 3, managed: 4, device_static: 5, managed_static: 6, unknown: 7 },
};
export const COPY = { hostToDevice: 1, deviceToHost: 2, deviceToDevice: 8, peerToPeer: 10 } as const;
export const NVTX = { mark: 34, pushPop: 59, startEnd: 60, domain: 75 } as const;
/** cudaErrorMemoryAllocation and CUDA_ERROR_OUT_OF_MEMORY alike. */
export const OUT_OF_MEMORY = 2;
/** cudaErrorNotReady: the answer to a query while the GPU is busy, not a failure. */
export const NOT_READY = 600;

type Numbers<Name extends string> = Readonly<Record<Name, number>>;
type Nullable<Name extends string> = Readonly<Record<Name, number | null>>;
type Texts<Name extends string> = Readonly<Record<Name, string>>;
type Sizes = readonly [number, number, number];

type OnThread = Numbers<'pid' | 'tid' | 'startNs' | 'endNs'>;
export type ApiCall = OnThread &
  Numbers<'correlation' | 'returnValue'> &
  Texts<'name'> &
  Nullable<'callchain'> & { readonly isDriver: boolean };
/** `library`: cublas or cudnn. */
export type LibraryCall = OnThread & Texts<'name'> & { readonly library: 'cublas' | 'cudnn' };

/** A pool of cudaMallocAsync after an operation. */
export type PoolState = Numbers<'address' | 'thresholdBytes' | 'bytes' | 'usedBytes'>;
type OnDevice = Numbers<'pid' | 'device' | 'startNs' | 'correlation'>;
export interface MemoryRow extends OnDevice, Numbers<'address' | 'bytes' | 'pc'>, Nullable<'stream'> {
  readonly isFree: boolean;
  readonly kind: MemoryKind;
  readonly name: string | null;
  readonly pool: PoolState | null;
}
/** `operation`: 1 created, 2 destroyed, 3 trimmed. */
export type PoolEvent = OnDevice & Numbers<'operation'> & Nullable<'minBytesToKeep'> & { readonly pool: PoolState };

type GpuWork = OnDevice & Numbers<'stream' | 'endNs'>;
export interface KernelPlan extends Texts<'shortName' | 'demangledName'>, Numbers<'registers' | 'localBytesPerThread'> {
  readonly grid: Sizes;
  readonly block: Sizes;
  /** Thread blocks of a cluster; 0: launched without. */
  readonly cluster?: number;
}
export type Kernel = GpuWork & KernelPlan;
export interface CopyPlan extends Numbers<'bytes' | 'copyKind'>, Nullable<'sourceDevice' | 'targetDevice'> {
  readonly sourceKind: MemoryKind;
  readonly targetKind: MemoryKind;
}
export type Memcpy = GpuWork & CopyPlan;
export type Memset = GpuWork & Numbers<'bytes' | 'value'>;
/** `syncType`: 1 event, 2 stream waits for event, 3 stream, 4 context. */
export type Synchronization = GpuWork & Numbers<'syncType' | 'event'>;
export type GraphLaunch = GpuWork & Numbers<'graph' | 'graphExec'>;

/** `endNs` is null for marks, domains and ranges never closed. A registered text is in StringIds, not in the row. */
export interface NvtxEvent
  extends Numbers<'pid' | 'tid' | 'type' | 'startNs' | 'domain'>,
    Nullable<'endTid' | 'rangeId'>,
    Texts<'text'> {
  endNs: number | null;
  readonly isRegistered: boolean;
}
/** A frame of a call chain; depth 0 is the innermost. */
export interface Frame extends Numbers<'callchain' | 'depth' | 'address'>, Texts<'symbol' | 'module'> {
  readonly isUnresolved: boolean;
}
/** `severity`: 1 info, 2 warning, 3 error. */
export type Diagnostic = Numbers<'startNs' | 'severity'> & Texts<'text'> & Nullable<'pid'>;

export function emptyRecording() {
  return {
    api: [] as ApiCall[],
    memory: [] as MemoryRow[],
    pool: [] as PoolEvent[],
    kernels: [] as Kernel[],
    copies: [] as Memcpy[],
    memsets: [] as Memset[],
    syncs: [] as Synchronization[],
    graphs: [] as GraphLaunch[],
    nvtx: [] as NvtxEvent[],
    library: [] as LibraryCall[],
    frames: [] as Frame[],
    diagnostics: [] as Diagnostic[],
  };
}
export type Recording = ReturnType<typeof emptyRecording>;

export interface CapturedProcess extends Numbers<'pid' | 'device'>, Texts<'name'> {
  /** Threads without a name are not in ThreadNames. */
  readonly threads: readonly { readonly tid: number; readonly name: string | null }[];
}

export interface Capture extends Numbers<'durationNs'> {
  /** UTC of the report's time 0. Beyond 2^53. */
  readonly utcEpochNs: bigint;
  /** The machine's clock since boot at that moment. */
  readonly systemClockNs: number;
  readonly gpus: readonly (Numbers<'id' | 'totalBytes' | 'numaNode'> & Texts<'name' | 'busLocation' | 'uuid'>)[];
  readonly processes: readonly CapturedProcess[];
  /** Rows of TARGET_INFO_SYSTEM_ENV. */
  readonly systemEnvironment: readonly (readonly [name: string, nameEnum: number, value: Cell])[];
  readonly recording: Recording;
}

const VM = 2 ** 48;
export const globalPid = (pid: number): number => VM + pid * 2 ** 24;
export const globalTid = (pid: number, tid: number): number => globalPid(pid) + tid;
export const isoTime = (ns: bigint): string => new Date(Number(ns / 1_000_000n)).toISOString().slice(0, 19);

/** Numbers for texts, in order of first use after the empty one. */
export function stringTable() {
  const ids = new Map<string, number>([['', 0]]);
  return {
    id(text: string): number {
      if (!ids.has(text)) ids.set(text, ids.size);
      return ids.get(text)!;
    },
    rows: (): Row[] => [...ids].map(([value, id]) => ({ id, value })),
  };
}
type Intern = (text: string) => number;

export function eventRows(recording: Recording, id: Intern, at: (ns: number) => number | bigint): Rows {
  const span = ({ startNs, endNs }: Numbers<'startNs' | 'endNs'>): Row => ({ start: at(startNs), end: at(endNs) });
  const onGpu = (work: GpuWork): Row => ({
    ...span(work),
    ...{ deviceId: work.device, contextId: 1, greenContextId: 0, streamId: work.stream },
    ...{ correlationId: work.correlation, globalPid: globalPid(work.pid) },
  });
  const poolState = (pool: PoolState | null): Row => ({
    localMemoryPoolReleaseThreshold: pool?.thresholdBytes,
    localMemoryPoolSize: pool?.bytes,
    localMemoryPoolUtilizedSize: pool?.usedBytes,
  });
  const called = (call: OnThread & Texts<'name'>): Row => ({
    ...span(call),
    ...{ globalTid: globalTid(call.pid, call.tid), nameId: id(call.name) },
  });
  const library = (name: LibraryCall['library'], eventClass: number): Row[] =>
    recording.library.filter((call) => call.library === name).map((call) => ({ ...called(call), eventClass }));
  return {
    CUPTI_ACTIVITY_KIND_RUNTIME: recording.api.map((call) => ({
      ...called(call),
      ...{ eventClass: call.isDriver ? 1 : 0, correlationId: call.correlation, returnValue: call.returnValue },
      callchainId: call.callchain,
    })),
    CUDA_GPU_MEMORY_USAGE_EVENTS: recording.memory.map((event) => ({
      ...{ start: at(event.startNs), globalPid: globalPid(event.pid), deviceId: event.device, contextId: 1 },
      ...{ address: event.address, pc: event.pc, bytes: event.bytes, memKind: KIND_NUMBERS[event.kind] },
      ...{ memoryOperationType: event.isFree ? 1 : 0, name: event.name, correlationId: event.correlation },
      ...{ streamId: event.stream, localMemoryPoolAddress: event.pool?.address, ...poolState(event.pool) },
    })),
    CUDA_GPU_MEMORY_POOL_EVENTS: recording.pool.map((event) => ({
      ...{ start: at(event.startNs), globalPid: globalPid(event.pid), deviceId: event.device },
      ...{ address: event.pool.address, operationType: event.operation, poolType: 1 },
      ...{ correlationId: event.correlation, minBytesToKeep: event.minBytesToKeep, ...poolState(event.pool) },
    })),
    CUPTI_ACTIVITY_KIND_KERNEL: recording.kernels.map((kernel, i) => ({
      ...onGpu(kernel),
      ...{ demangledName: id(kernel.demangledName), shortName: id(kernel.shortName), launchType: 1, cacheConfig: 1 },
      ...{ registersPerThread: kernel.registers, staticSharedMemory: 0, dynamicSharedMemory: 0, gridId: i + 1 },
      ...{ gridX: kernel.grid[0], gridY: kernel.grid[1], gridZ: kernel.grid[2] },
      ...{ blockX: kernel.block[0], blockY: kernel.block[1], blockZ: kernel.block[2] },
      ...{ localMemoryPerThread: kernel.localBytesPerThread, sharedMemoryExecuted: 8192 },
      localMemoryTotal: kernel.localBytesPerThread * 132 * 2048,
      ...clusterSize(kernel),
      tensorSizeMinusOneElements: '',
    })),
    CUPTI_ACTIVITY_KIND_MEMCPY: recording.copies.map((copy) => ({
      ...onGpu(copy),
      ...{ bytes: copy.bytes, copyKind: copy.copyKind, copyCount: 1 },
      ...{ srcKind: KIND_NUMBERS[copy.sourceKind], dstKind: KIND_NUMBERS[copy.targetKind] },
      ...{ srcDeviceId: copy.sourceDevice, srcContextId: copy.sourceDevice === null ? null : 1 },
      ...{ dstDeviceId: copy.targetDevice, dstContextId: copy.targetDevice === null ? null : 1 },
    })),
    CUPTI_ACTIVITY_KIND_MEMSET: recording.memsets.map((memset) => ({
      ...{ ...onGpu(memset), value: memset.value, bytes: memset.bytes, memKind: KIND_NUMBERS.device },
    })),
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: recording.syncs.map((sync) => ({
      ...{ ...onGpu(sync), syncType: sync.syncType, eventId: sync.event },
    })),
    CUPTI_ACTIVITY_KIND_GRAPH_TRACE: recording.graphs.map((graph) => ({
      ...{ ...onGpu(graph), graphId: graph.graph, graphExecId: graph.graphExec },
    })),
    NVTX_EVENTS: recording.nvtx.map((event) => {
      const isRegistered = event.isRegistered && event.type !== NVTX.domain;
      return {
        ...{ start: at(event.startNs), end: event.endNs === null ? null : at(event.endNs), eventType: event.type },
        ...{ rangeId: event.rangeId, domainId: event.domain, globalTid: globalTid(event.pid, event.tid) },
        ...(isRegistered ? { textId: id(event.text) } : { text: event.text }),
        endGlobalTid: event.endTid === null ? null : globalTid(event.pid, event.endTid),
      };
    }),
    CUBLAS_EVENTS: library('cublas', 29),
    CUDNN_EVENTS: library('cudnn', 28),
    CUDA_CALLCHAINS: recording.frames.map((frame) => ({
      ...{ id: frame.callchain, symbol: id(frame.symbol), module: id(frame.module) },
      ...{ unresolved: frame.isUnresolved ? 1 : 0, originalIP: frame.address, stackDepth: frame.depth },
    })),
    DIAGNOSTIC_EVENT: recording.diagnostics.map(({ startNs, severity, text, pid }) => ({
      ...{ timestamp: at(startNs), timestampType: 2, source: 3, severity, text },
      globalPid: pid === null ? null : globalPid(pid),
    })),
  };
}

function clusterSize({ cluster }: KernelPlan): Row {
  if (cluster === undefined) return {};
  const other = cluster === 0 ? 0 : 1;
  return { clusterX: cluster, clusterY: other, clusterZ: other };
}

/** The machine and its processes. `startTime`: of the collection on the clock since boot. */
export function targetRows(capture: Capture, id: Intern, startTime = capture.systemClockNs): Rows {
  const { processes, gpus, utcEpochNs, durationNs, systemClockNs } = capture;
  const utcTime = isoTime(utcEpochNs);
  const context = (pid: number, deviceId: number): Row => ({
    ...{ hwId: 0, vmId: 1, processId: pid, deviceId, contextId: 1 },
  });
  return {
    TARGET_INFO_SYSTEM_ENV: capture.systemEnvironment.map(([name, nameEnum, value]) => ({
      ...{ globalVid: VM, devStateName: 'Local (CLI)', name, nameEnum, value },
    })),
    TARGET_INFO_SESSION_START_TIME: [
      { utcEpochNs, utcTime, localTime: utcTime, systemClockNs, sessionStartCntVctNs: systemClockNs + 17 },
    ],
    // Another clock: adding it to the times of events would be wrong.
    ANALYSIS_DETAILS: [{ globalVid: VM, duration: durationNs, startTime, stopTime: startTime + durationNs }],
    PROCESSES: processes.map(({ pid, name }) => ({ globalPid: globalPid(pid), pid, name })),
    ThreadNames: processes.flatMap(({ pid, threads }) =>
      threads.flatMap(({ tid, name }) =>
        name === null ? [] : [{ nameId: id(name), priority: 20, globalTid: globalTid(pid, tid) }],
      ),
    ),
    TARGET_INFO_GPU: gpus.map((gpu) => ({
      ...{ vmId: VM, id: gpu.id, pwGpuId: gpu.id, cuDevice: gpu.id, name: gpu.name, uuid: gpu.uuid },
      ...{ busLocation: gpu.busLocation, totalMemory: gpu.totalBytes, numaNodeId: gpu.numaNode, chipName: 'GH100' },
      ...{ isDiscrete: 1, smCount: 132, threadsPerWarp: 32, computeMajor: 9, computeMinor: 0 },
    })),
    TARGET_INFO_CUDA_DEVICE: processes.flatMap(({ pid }) =>
      gpus.map(({ id: gpu, uuid }) => ({ gpuId: gpu, cudaId: gpu, pid, uuid, numMultiprocessors: 132 })),
    ),
    TARGET_INFO_CUDA_CONTEXT_INFO: processes.map(({ pid, device }) => ({
      ...{ nullStreamId: 7, ...context(pid, device), parentContextId: 0, isGreenContext: 0 },
    })),
    TARGET_INFO_CUDA_NULL_STREAM: processes.map(({ pid, device }) => ({ streamId: 7, ...context(pid, device) })),
  };
}

export const pairs = (entries: Readonly<Record<string, string>>): Row[] =>
  Object.entries(entries).map(([name, value]) => ({ name, value }));

/** The exporter and what it wrote, an hour after the capture. `more` comes before the parameters of the export. */
export function exportFacts(schema: NsysSchema, utcEpochNs: bigint, more: Readonly<Record<string, string>> = {}) {
  const { version, product } = RELEASES[schema];
  const [major = '', minor = '', micro = ''] = version.split('.');
  return {
    ...{ EXPORT_PRODUCT_NAME: 'NVIDIA Nsight Systems', EXPORT_PRODUCT_VERSION: product },
    ...{ EXPORT_SCHEMA_VERSION: version, EXPORT_SCHEMA_VERSION_MAJOR: major, EXPORT_SCHEMA_VERSION_MINOR: minor },
    ...{ EXPORT_SCHEMA_VERSION_MICRO: micro, EXPORT_PLATFORM: 'linux-desktop' },
    EXPORT_TIME_UTC: isoTime(utcEpochNs + 3_600_000_000_000n),
    ...more,
  };
}

/** Switches of `nsys export`. */
export function exportParameters({ isNormalized = false, timeShiftNs = 0, tables = [] as readonly string[] } = {}) {
  return {
    EXPORT_PARAM_LAZY: 'true',
    EXPORT_PARAM_TIME_NORMALIZE: String(isNormalized),
    EXPORT_PARAM_TIME_SHIFT: String(timeShiftNs),
    EXPORT_PARAM_TABLES_TO_EXPORT: tables.join(','),
    EXPORT_PARAM_TIMES_TO_EXPORT: '',
  };
}

/** Labels of documented numbers. Symbolic names differ from the exporter's: no reader may depend on them. */
export const ENUMERATIONS: Rows = Object.fromEntries(
  dataFile('enumerations.tsv')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [table = '', ...labels] = line.split('\t');
      const rows = labels.map((text) => {
        const [, id, label = ''] = /^(-?\d+) (.*)$/.exec(text)!;
        return { id: Number(id), name: label.toUpperCase().replaceAll(/[^A-Z]/g, '_'), label };
      });
      return [table, rows];
    }),
);

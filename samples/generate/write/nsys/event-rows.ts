/** What happened, as rows of an export. */
import type { ProfiledRange, ProfiledThread, ProfileRecording } from '../../simulate/profile/recording.js';
import { CallChains } from './call-chains.js';
import type { ReportClock } from './report-clock.js';
import { REPORT_KERNELS, STREAM_NUMBERS } from './report-kernels.js';
import type { NsysRows, Row } from './tables.js';

export interface EventContext {
  readonly clock: ReportClock;
  readonly globalPid: number;
  readonly device: number;
  readonly threads: Readonly<Record<ProfiledThread, number>>;
  /** Number of a text in StringIds. */
  id(text: string): number;
}

/** ENUM_CUDA_MEM_KIND, ENUM_CUDA_MEMCPY_OPER, ENUM_NSYS_EVENT_TYPE. */
const PINNED = 1;
const DEVICE = 2;
const HOST_TO_DEVICE = 1;
const DEVICE_TO_HOST = 2;
const NVTX_DOMAIN = 75;
const NVTX_RANGE = 59;
const STREAM_WAIT = 3;
/** cudaErrorMemoryAllocation. */
const OUT_OF_MEMORY = 2;
/** What launching work takes the host. */
const LAUNCH_US = 4.1;
/** Within its call, the moment at which memory has changed hands. */
const MEMORY_SHARE = 0.7;
const DOMAINS: Readonly<Record<ProfiledRange['domain'], number>> = { default: 0, NCCL: 1 };
const MULTIPROCESSORS = 132;

/** A call of the CUDA API, and the rows of what it caused, which get its number. */
interface ApiCall {
  readonly thread: ProfiledThread;
  readonly startUs: number;
  readonly endUs: number;
  readonly name: string;
  readonly isDriver?: boolean;
  readonly isRefused?: boolean;
  readonly chain?: number;
  readonly caused?: (correlationId: number) => void;
}

export function eventRows(recording: ProfileRecording, context: EventContext): NsysRows {
  const { clock, globalPid, device, threads, id } = context;
  const chains = new CallChains();
  const memory: Row[] = [];
  const kernels: Row[] = [];
  const copies: Row[] = [];
  const sets: Row[] = [];
  const waits: Row[] = [];
  const span = ({ startUs, endUs }: { readonly startUs: number; readonly endUs: number }): Row => ({
    start: clock.ns(startUs),
    end: clock.ns(endUs),
  });
  const globalTid = (thread: ProfiledThread): number => globalPid + threads[thread];
  const onDevice = { deviceId: device, contextId: 1, greenContextId: 0, globalPid };
  const launchOf = ({ thread, launchUs }: { readonly thread: ProfiledThread; readonly launchUs: number }) => ({
    thread,
    startUs: launchUs,
    endUs: launchUs + LAUNCH_US,
  });

  const calls: ApiCall[] = [
    ...recording.calls.map((call): ApiCall => {
      const { kind, address, bytes, startUs, endUs, thread } = call;
      const isRefused = address === null;
      const chain = chains.of(call);
      const event = (correlationId: number): Row => ({
        start: clock.ns(startUs + MEMORY_SHARE * (endUs - startUs)),
        globalPid,
        deviceId: device,
        contextId: 1,
        address,
        pc: CallChains.counter(chain),
        bytes,
        memKind: DEVICE,
        memoryOperationType: kind === 'malloc' ? 0 : 1,
        correlationId,
      });
      const caused = isRefused ? {} : { caused: (number: number) => void memory.push(event(number)) };
      const name = kind === 'malloc' ? 'cudaMalloc_v3020' : 'cudaFree_v3020';
      return { thread, startUs, endUs, name, isRefused, chain, ...caused };
    }),
    ...recording.kernels.map((work, i): ApiCall => {
      const { short, demangled, grid, block, registers, localBytes, cluster, isDriver } = REPORT_KERNELS[work.kernel];
      const row = (correlationId: number): Row => ({
        ...span(work),
        ...onDevice,
        streamId: STREAM_NUMBERS[work.stream],
        correlationId,
        demangledName: id(demangled),
        shortName: id(short),
        launchType: 1,
        cacheConfig: 1,
        registersPerThread: registers,
        gridX: grid[0],
        gridY: grid[1],
        gridZ: grid[2],
        blockX: block[0],
        blockY: block[1],
        blockZ: block[2],
        staticSharedMemory: 0,
        dynamicSharedMemory: 0,
        localMemoryPerThread: localBytes,
        localMemoryTotal: localBytes * MULTIPROCESSORS * 2048,
        gridId: i + 1,
        sharedMemoryExecuted: 8192,
        clusterX: cluster,
        clusterY: cluster === 0 ? 0 : 1,
        clusterZ: cluster === 0 ? 0 : 1,
        tensorSizeMinusOneElements: '',
      });
      const name = isDriver ? 'cuLaunchKernelEx' : 'cudaLaunchKernel_v7000';
      return { ...launchOf(work), name, isDriver, caused: (number) => void kernels.push(row(number)) };
    }),
    ...recording.copies.map((work): ApiCall => {
      const { operation, bytes, stream } = work;
      const shared = (correlationId: number): Row => ({
        ...span(work),
        ...onDevice,
        streamId: STREAM_NUMBERS[stream],
        correlationId,
        bytes,
      });
      if (operation === 'set') {
        const caused = (number: number) => void sets.push({ ...shared(number), value: 0, memKind: DEVICE });
        return { ...launchOf(work), name: 'cudaMemsetAsync_v3020', caused };
      }
      const isUp = operation === 'host_to_device';
      const kinds = { srcKind: isUp ? PINNED : DEVICE, dstKind: isUp ? DEVICE : PINNED };
      const facts = { copyKind: isUp ? HOST_TO_DEVICE : DEVICE_TO_HOST, ...kinds, copyCount: 1 };
      const caused = (number: number) => void copies.push({ ...shared(number), ...facts });
      return { ...launchOf(work), name: 'cudaMemcpyAsync_v3020', caused };
    }),
    ...recording.waits.map((wait): ApiCall => {
      const row = {
        ...span(wait),
        ...onDevice,
        streamId: STREAM_NUMBERS[wait.stream],
        syncType: STREAM_WAIT,
        eventId: 0,
      };
      const caused = (correlationId: number) => void waits.push({ ...row, correlationId });
      return { ...wait, name: 'cudaStreamSynchronize_v3020', caused };
    }),
  ];

  const api: Row[] = [];
  for (const [i, call] of calls.toSorted((a, b) => a.startUs - b.startUs).entries()) {
    // Calls that nobody traces count, too.
    const correlationId = 1873 + i * 3;
    api.push({
      ...span(call),
      eventClass: call.isDriver === true ? 1 : 0,
      globalTid: globalTid(call.thread),
      correlationId,
      nameId: id(call.name),
      returnValue: call.isRefused === true ? OUT_OF_MEMORY : 0,
      callchainId: call.chain ?? null,
    });
    call.caused?.(correlationId);
  }
  return {
    CUPTI_ACTIVITY_KIND_RUNTIME: api,
    CUDA_GPU_MEMORY_USAGE_EVENTS: memory,
    CUPTI_ACTIVITY_KIND_KERNEL: kernels,
    CUPTI_ACTIVITY_KIND_MEMCPY: copies,
    CUPTI_ACTIVITY_KIND_MEMSET: sets,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: waits,
    NVTX_EVENTS: [
      { start: -1_204_611, eventType: NVTX_DOMAIN, text: 'NCCL', globalTid: globalTid('main'), domainId: DOMAINS.NCCL },
      ...recording.ranges.map(({ thread, domain, text, startUs, endUs }) => ({
        start: clock.ns(startUs),
        end: endUs === null ? null : clock.ns(endUs),
        eventType: NVTX_RANGE,
        // NCCL registers its texts once.
        ...(domain === 'default' ? { text } : { textId: id(text) }),
        globalTid: globalTid(thread),
        domainId: DOMAINS[domain],
      })),
    ],
    CUBLAS_EVENTS: recording.library.map((call) => ({
      ...span(call),
      eventClass: 29,
      globalTid: globalTid(call.thread),
      nameId: id(call.name),
    })),
    CUDA_CALLCHAINS: chains.frames.map(({ chain, depth, symbol, module, address }) => ({
      id: chain,
      symbol: id(symbol),
      module: id(module),
      unresolved: 0,
      originalIP: address,
      stackDepth: depth,
    })),
  };
}

/**
 * One training process under the profiler: its threads, its calls, what the driver gives it, and the caching allocator
 * of torch above that.
 */
import type { CallPath } from '../../../samples/generate/simulate/code-line.js';

import { type Random, wholeBetween } from '../../../samples/generate/simulate/random.js';
import type { Tensor, Traceback } from '../../../samples/generate/simulate/rank-process.js';
import type { CallChains, ChainCaller } from '../../../samples/generate/write/nsys/call-chains.js';
import {
  type ApiCall,
  type CopyPlan as Copied,
  type KernelPlan,
  NOT_READY,
  NVTX,
  type NvtxEvent,
  OUT_OF_MEMORY,
  type PoolState,
} from '../../../samples/generate/write/nsys/capture.js';
import { CachingAllocator, type TraceEntry } from '../../../src/allocator/caching/caching-allocator.js';
import type { Driver } from '../../../src/allocator/caching/driver.js';
import { roundUp } from '../../../src/allocator/rounding.js';
import type { MemoryKind } from '../../../src/model/nsys-rows.js';
import { MIB } from '../../../src/model/units.js';
import type { MemoryEvent, Owner, Recording, ThreadPlan } from './rows.js';

type Numbers<Name extends string> = Readonly<Record<Name, number>>;

/**
 * `contextBytes`: context and modules, memory of the process that no event shows. `ncclDomain`: `domainId` of NCCL in
 * this process. `skewUs`: the clock of the snapshot is that much ahead of the report's.
 */
export interface ProcessPlan
  extends Numbers<'pid' | 'rank' | 'device' | 'totalBytes' | 'contextBytes' | 'ncclDomain' | 'skewUs' | 'jitterUs'> {
  readonly threads: Readonly<Record<ThreadName, ThreadPlan>>;
  readonly utcEpochNs: bigint;
  readonly random: Random;
}

export type ThreadName = 'main' | 'autograd' | 'nccl' | 'unnamed';

/** `kind`: default device. `at`: an address given back before; default: one never used. */
export type Request = Live & { readonly api: string; readonly at?: number };

interface CallOptions extends Partial<Numbers<'micros' | 'returnValue'>> {
  readonly isDriver?: boolean;
  readonly callchain?: number | null;
}

type CopyPlan = Copied & { readonly api: string };

/** Both processes count their calls from here, and start at the same addresses: nothing is unique across processes. */
const FIRST_CORRELATION = 5000;
const FIRST_ADDRESS = {
  device: 0x7f20_0000_0000,
  managed: 0x7e20_0000_0000,
  host: 0x7d20_0000_0000,
} as const;
/**
 * Addresses come in such steps, and the range given back last is used first: so the processes' addresses coincide, and
 * one address has several lives.
 */
const ADDRESS_STEP_BYTES = 128 * MIB;
/** A pool takes memory in steps. */
const POOL_STEP_BYTES = 32 * MIB;
const POOL_RESERVED_BYTES = 2 ** 36;

type Space = keyof typeof FIRST_ADDRESS;
const spaceOf = (address: number): Space =>
  address >= FIRST_ADDRESS.device ? 'device' : address >= FIRST_ADDRESS.managed ? 'managed' : 'host';

interface Live extends Numbers<'bytes'> {
  readonly kind?: MemoryKind;
  readonly owner: Owner;
}

/** Whose stacks the call chains of the samples have. */
const CALLERS: Readonly<Partial<Record<Owner, ChainCaller>>> = {
  ...{ torch: 'torch', nccl: 'nccl_connect', cublas: 'cublas', cudnn: 'cudnn', pinned: 'pinned' },
};
/** Code of a library that no call chain names. */
const UNKNOWN_CODE = 0x7ec0_6000_0010;

export function createProcess(plan: ProcessPlan, recording: Recording, chains: CallChains) {
  const { pid, device, random } = plan;
  let clock = 0;
  let thread: ThreadName = 'main';
  let correlation = FIRST_CORRELATION;
  let eventId = 1;
  let lastMemoryNs = 0;
  const openRanges: Record<ThreadName, NvtxEvent[]> = { main: [], autograd: [], nccl: [], unnamed: [] };
  const nextAddress: Record<Space, number> = { ...FIRST_ADDRESS };
  /** Ranges given back, by their first address: how long each was when it was first used. */
  const vacant = new Map<number, number>();
  const rangeBytes = new Map<number, number>();
  const live = new Map<number, Required<Live>>();
  const streamEnd = new Map<number, number>();
  let pool: PoolState | null = null;
  /** Of live device memory as the driver sees it: pools count as what they hold, not as what is in use. */
  let usedBytes = 0;

  const pass = (micros: number): void => {
    clock += Math.round(micros * 1000);
  };
  const some = (low: number, high: number): number => wholeBetween(random, low, high);
  const here = (): ThreadPlan => plan.threads[thread];
  const isRecorded = (): boolean => clock >= 0;
  const freeBytes = (): number => plan.totalBytes - plan.contextBytes - usedBytes;
  const occupies = (kind: MemoryKind): boolean => kind === 'device' || kind === 'device_static' || kind === 'array';
  const nvtxPath = (): string[] => openRanges[thread].map(({ text }) => text);

  /** Any API call; `inside` runs while it is under way. */
  const call = (name: string, options: CallOptions = {}, inside?: (call: ApiCall) => void): ApiCall => {
    correlation += some(1, 3);
    const startNs = clock;
    const { micros = some(2, 9), returnValue = 0, isDriver = false, callchain = null } = options;
    const endNs = startNs + Math.round(micros * 1000) + some(0, 900);
    const made = { pid, tid: here().tid, startNs, endNs, correlation, name, returnValue, isDriver, callchain };
    if (isRecorded()) recording.api.push(made);
    inside?.(made);
    clock = Math.max(clock, endNs) + some(100, 900);
    return made;
  };

  const chainOf = (owner: Owner, kind: 'malloc' | 'free' = 'malloc'): number | null => {
    const caller = CALLERS[owner];
    return caller === undefined ? null : chains.of({ caller, kind });
  };

  /** The driver reports it during the call. */
  const momentIn = ({ startNs, endNs }: ApiCall): number => startNs + Math.floor((endNs - startNs) * 0.7);

  function memoryEvent(
    made: ApiCall,
    what: Pick<MemoryEvent, 'isFree' | 'kind' | 'address' | 'bytes'> & { readonly owner: Owner },
    more: Partial<Pick<MemoryEvent, 'name' | 'stream' | 'pool' | 'startNs'>> = {},
  ): void {
    const { owner, ...facts } = what;
    const { callchain, correlation: changed, name: api } = made;
    const { tid, name: threadName } = here();
    const caller = chains.frames.find((frame) => frame.callchain === callchain && frame.depth === 1);
    const event: MemoryEvent = {
      ...{ pid, device, startNs: momentIn(made), ...facts, name: null, correlation: changed, stream: null, pool: null },
      pc: caller?.address ?? (owner === 'other' ? 0 : UNKNOWN_CODE),
      ...more,
      label: { owner, api, nvtxPath: nvtxPath(), tid, threadName, module: caller?.module ?? null },
    };
    if (isRecorded()) recording.memory.push(event);
    lastMemoryNs = event.startNs;
  }

  function takeAddress(kind: MemoryKind, bytes: number): number {
    const space = kind === 'managed' ? 'managed' : occupies(kind) ? 'device' : 'host';
    const needed = roundUp(bytes, ADDRESS_STEP_BYTES);
    const again = [...vacant].findLast(([address, length]) => length === needed && spaceOf(address) === space)?.[0];
    if (again !== undefined) return again;
    const address = nextAddress[space];
    nextAddress[space] += needed;
    rangeBytes.set(address, needed);
    return address;
  }

  function open(address: number, block: Required<Live>): void {
    if (live.has(address)) throw new Error(`planted process ${pid}: ${address} is in use`);
    live.set(address, block);
    vacant.delete(address);
    if (occupies(block.kind)) usedBytes += block.bytes;
  }

  function close(address: number): Required<Live> {
    const block = live.get(address);
    if (block === undefined) throw new Error(`planted process ${pid}: ${address} is not in use`);
    live.delete(address);
    vacant.set(address, rangeBytes.get(address)!);
    if (occupies(block.kind)) usedBytes -= block.bytes;
    return block;
  }

  function failed({ name: api, startNs: atNs }: ApiCall, owner: Owner, bytes: number): void {
    const { tid, name: threadName } = here();
    recording.failures.push({ pid, tid, threadName, api, atNs, bytes, owner, nvtxPath: nvtxPath() });
  }

  function allocate({ bytes, owner, api, kind = 'device', at }: Request): number | null {
    const callchain = chainOf(owner);
    const micros = some(60, 500);
    if (occupies(kind) && bytes > freeBytes()) {
      failed(call(api, { micros, callchain, returnValue: OUT_OF_MEMORY }), owner, bytes);
      return null;
    }
    const address = at ?? takeAddress(kind, bytes);
    call(api, { micros, callchain }, (made) => {
      open(address, { bytes, kind, owner });
      memoryEvent(made, { isFree: false, kind, address, bytes, owner });
    });
    return address;
  }

  function release(address: number, api: string): void {
    const block = close(address);
    call(api, { micros: some(15, 120), callchain: chainOf(block.owner, 'free') }, (made) => {
      memoryEvent(made, { isFree: true, address, ...block });
    });
  }

  function poolOperation(name: string, state: PoolState, operation: 1 | 3, minBytesToKeep: number | null): void {
    usedBytes += state.bytes - (pool?.bytes ?? 0);
    pool = state;
    call(name, {}, (made) => {
      const startNs = momentIn(made);
      const { correlation: changed } = made;
      recording.pool.push({ pid, device, startNs, operation, correlation: changed, minBytesToKeep, pool: state });
    });
  }

  /** Every operation on the pool records the state after it. */
  function usePool(usedMore: number): PoolState {
    const usedNow = pool!.usedBytes + usedMore;
    const bytes = Math.max(pool!.bytes, roundUp(usedNow, POOL_STEP_BYTES));
    usedBytes += bytes - pool!.bytes;
    pool = { ...pool!, usedBytes: usedNow, bytes };
    return pool;
  }

  /** Work of a stream follows what the stream has to do, not the thread that asked for it. */
  function onStream(stream: number, micros: number): { readonly startNs: number; readonly endNs: number } {
    const startNs = Math.max(clock + some(2500, 6000), (streamEnd.get(stream) ?? 0) + some(800, 2000));
    const endNs = startNs + Math.round(micros * 1000) + some(0, 999);
    streamEnd.set(stream, endNs);
    return { startNs, endNs };
  }

  const submit = (name: string, stream: number, micros: number, isDriver = false) => {
    const { correlation: launched } = call(name, { isDriver });
    return { pid, device, stream, correlation: launched, ...onStream(stream, micros) };
  };

  const waitOf = ({ startNs, endNs, correlation: waited }: ApiCall) => ({
    ...{ pid, device, startNs, endNs, correlation: waited },
  });

  const times = { now: () => clock, lastMemoryNs: () => lastMemoryNs, pass };
  const torch = createTorch(plan, { allocate, release, freeBytes, ...times });

  /** An event of this thread that begins now, outside any domain. */
  const nvtx = (type: number, text: string, more: Partial<NvtxEvent> = {}): NvtxEvent => {
    const where = { pid, tid: here().tid, startNs: clock, endNs: null, endTid: null };
    const event = { ...where, type, text, isRegistered: false, domain: 0, rangeId: null, ...more };
    recording.nvtx.push(event);
    return event;
  };

  return {
    ...{ plan, torch, now: () => clock, pass, freeBytes, call, allocate, release },
    setClock: (ns: number) => {
      clock = ns;
    },
    on(other: ThreadName, body: () => void) {
      const outer = thread;
      thread = other;
      body();
      thread = outer;
    },
    range(text: string, body: () => void, domain = 0) {
      const event = nvtx(NVTX.pushPop, text, { isRegistered: domain !== 0, domain });
      openRanges[thread].push(event);
      pass(0.4);
      body();
      pass(0.4);
      openRanges[thread].pop();
      event.endNs = clock;
    },
    /** Never closed. */
    openRange(text: string) {
      nvtx(NVTX.pushPop, text);
      pass(1);
    },
    mark(text: string) {
      nvtx(NVTX.mark, text);
      pass(0.5);
    },
    /** A start/end range that this thread begins and `ender` ends. */
    startEnd(text: string, rangeId: number, ender: ThreadName, body: () => void) {
      const event = nvtx(NVTX.startEnd, text, { endTid: plan.threads[ender].tid, rangeId });
      body();
      event.endNs = clock;
    },
    nameDomain: (text: string, domain: number) => void nvtx(NVTX.domain, text, { domain }),
    library(library: 'cublas' | 'cudnn', name: string, body: () => void) {
      const { tid } = here();
      const startNs = clock;
      pass(2);
      body();
      pass(2);
      recording.library.push({ library, pid, tid, startNs, endNs: clock, name });
    },
    /** The driver has the memory back, but no event is recorded. */
    loseFree: (address: number) => void close(address),
    /** A call of the driver's own (module load, graph instantiation) that takes memory on the way. */
    allocateInside(name: string, requests: readonly (Live & { readonly name?: string })[], isDriver = false) {
      const micros = some(900, 2500);
      call(name, { micros, isDriver }, (made) => {
        for (const [i, { bytes, owner, kind = 'device', name: variable = null }] of requests.entries()) {
          const address = takeAddress(kind, bytes);
          open(address, { bytes, kind, owner });
          const facts = { isFree: false, kind, address, bytes, owner };
          memoryEvent(made, facts, { name: variable, startNs: momentIn(made) + i });
        }
      });
    },
    createPool(thresholdBytes: number) {
      const address = nextAddress.device;
      // Address space only: what is in the pool takes addresses out of this range.
      nextAddress.device += POOL_RESERVED_BYTES;
      poolOperation('cudaMemPoolCreate_v11020', { address, thresholdBytes, bytes: 0, usedBytes: 0 }, 1, null);
    },
    allocateAsync(bytes: number, stream: number) {
      // Far enough from its neighbour for whatever is planted.
      const inPool = [...live.keys()].filter((at) => at >= pool!.address && at < pool!.address + POOL_RESERVED_BYTES);
      const address = inPool.length === 0 ? pool!.address : Math.max(...inPool) + POOL_STEP_BYTES * 2;
      call('cudaMallocAsync_v11020', {}, (made) => {
        live.set(address, { bytes, kind: 'device', owner: 'async_pool' });
        const facts = { isFree: false, kind: 'device', address, bytes, owner: 'async_pool' } as const;
        memoryEvent(made, facts, { stream, pool: usePool(bytes) });
      });
      return address;
    },
    releaseAsync(address: number, stream: number) {
      const { bytes } = live.get(address)!;
      live.delete(address);
      call('cudaFreeAsync_v11020', {}, (made) => {
        const facts = { isFree: true, kind: 'device', address, bytes, owner: 'async_pool' } as const;
        memoryEvent(made, facts, { stream, pool: usePool(-bytes) });
      });
    },
    trimPool(keepBytes: number) {
      const kept = Math.max(keepBytes, roundUp(pool!.usedBytes, POOL_STEP_BYTES));
      poolOperation('cudaMemPoolTrimTo_v11020', { ...pool!, bytes: Math.min(pool!.bytes, kept) }, 3, keepBytes);
    },
    /** An allocation by the driver's interface that fails, whatever the driver has. */
    fail(bytes: number, owner: Owner, api: string) {
      const callchain = chainOf(owner);
      const options = { micros: some(200, 600), isDriver: true, callchain, returnValue: OUT_OF_MEMORY };
      failed(call(api, options), owner, bytes);
    },
    launch(kernel: KernelPlan, stream: number, micros: number) {
      const isDriver = random() < 0.3;
      const work = submit(isDriver ? 'cuLaunchKernelEx' : 'cudaLaunchKernel_v7000', stream, micros, isDriver);
      recording.kernels.push({ ...work, ...kernel });
    },
    copy({ api, ...copied }: CopyPlan, stream: number) {
      // 25 GB/s over the bus, 1.2 TB/s on the device.
      const bytesPerMicro = copied.sourceKind === 'device' && copied.targetKind === 'device' ? 1_200_000 : 25_000;
      recording.copies.push({ ...submit(api, stream, 1 + copied.bytes / bytesPerMicro), ...copied });
    },
    memset(bytes: number, stream: number) {
      recording.memsets.push({ ...submit('cudaMemsetAsync_v3020', stream, 1 + bytes / 2_000_000), bytes, value: 0 });
    },
    launchGraph(graph: number, graphExec: number, stream: number) {
      const work = submit('cudaGraphLaunch_v10000', stream, some(400, 900));
      recording.graphs.push({ ...work, graph, graphExec });
    },
    waitFor(stream: number) {
      const waitNs = Math.max(0, (streamEnd.get(stream) ?? 0) - clock);
      const waited = call('cudaStreamSynchronize_v3020', { micros: 3 + waitNs / 1000 });
      recording.syncs.push({ ...waitOf(waited), stream, syncType: 3, event: 0 });
    },
    /** cudaEventQuery: not ready `times`, then done. */
    poll(times: number) {
      for (let i = 0; i <= times; i += 1)
        call('cudaEventQuery_v3020', { micros: 1, returnValue: i < times ? NOT_READY : 0 });
      const waited = call('cudaEventSynchronize_v3020', { micros: 4 });
      recording.syncs.push({ ...waitOf(waited), stream: 7, syncType: 1, event: eventId++ });
    },
  };
}
export type SimulatedProcess = ReturnType<typeof createProcess>;

interface Below {
  allocate(request: Request): number | null;
  release(address: number, api: string): void;
  freeBytes(): number;
  now(): number;
  /** `start` of the last memory event. */
  lastMemoryNs(): number;
  pass(micros: number): void;
}

/** Torch's allocator as this project models it, so that trace and segments agree with what the driver was asked. */
function createTorch(plan: ProcessPlan, below: Below) {
  const { random, totalBytes } = plan;
  const trace: { -readonly [K in keyof TraceEntry<Traceback>]: TraceEntry<Traceback>[K] }[] = [];
  let hasHistory = false;
  let forcedAddress: number | null = null;
  let lastUs = 0;

  /** µs of the snapshot's clock, never going back. */
  const stamp = (ns: number): number => {
    const us = Number((plan.utcEpochNs + BigInt(Math.round(ns))) / 1000n) + plan.skewUs;
    lastUs = Math.max(lastUs, us + wholeBetween(random, 0, plan.jitterUs));
    return lastUs;
  };
  const driver: Driver = {
    malloc(bytes) {
      const at = forcedAddress === null ? {} : { at: forcedAddress };
      const address = below.allocate({ bytes, owner: 'torch', api: 'cudaMalloc_v3020', ...at });
      if (address !== null) forcedAddress = null;
      return address;
    },
    free(address) {
      below.release(address, 'cudaFree_v3020');
      // The entry already exists: torch writes it before it calls the driver. Its moment is known only now.
      if (hasHistory) trace.at(-1)!.timeUs = stamp(below.lastMemoryNs());
    },
    ...{ reserve: unused, map: unused, unmap: unused },
    memory: () => ({ totalBytes, freeBytes: below.freeBytes(), processBytes: totalBytes - below.freeBytes() }),
  };
  const allocator = new CachingAllocator<Traceback>({
    driver,
    trace(entry) {
      if (!hasHistory) return;
      const ns = entry.action === 'segment_alloc' ? below.lastMemoryNs() : below.now();
      trace.push(entry.action === 'segment_free' ? { ...entry } : { ...entry, timeUs: stamp(ns) });
    },
  });
  const request = (bytes: number, path: CallPath) => {
    below.pass(3);
    return allocator.malloc(bytes, 0, { frames: path });
  };
  return {
    /** From here on the allocator keeps a trace. */
    startHistory() {
      hasHistory = true;
    },
    malloc(bytes: number, path: CallPath): Tensor {
      const result = request(bytes, path);
      if (!result.ok) throw new Error(`planted process ${plan.pid}: no memory for ${bytes} bytes`);
      return result.block;
    },
    /** A request that must fail. */
    runOutOfMemory(bytes: number, path: CallPath) {
      const result = request(bytes, path);
      if (result.ok) throw new Error(`planted process ${plan.pid}: there was memory for ${bytes} bytes`);
      return result.oom;
    },
    free(tensor: Tensor) {
      below.pass(2);
      allocator.free(tensor);
    },
    emptyCache: () => allocator.flush(),
    /** The next segment gets this address. */
    nextSegmentAt(address: number) {
      forcedAddress = address;
    },
    /** Bytes of segments that nothing lives in. */
    idleBytes() {
      const idle = allocator.snapshot().filter(({ activeBytes }) => activeBytes === 0);
      return idle.reduce((sum, { totalBytes: bytes }) => sum + bytes, 0);
    },
    /** For a snapshot; the trace's stacks and times are those torch would write. */
    state() {
      const { reservedBytes, allocatedBytes } = allocator.statistics;
      const bytes = { reservedBytes: reservedBytes.current, allocatedBytes: allocatedBytes.current };
      return { trace: trace.map((entry) => ({ ...entry })), segments: allocator.snapshot(), ...bytes };
    },
  };
}

function unused(): never {
  throw new Error('planted processes have no expandable segments');
}

/** The requests of a recording, served by an allocator with other settings or on another device. */
import type { Block } from '../caching/block.js';
import { CachingAllocator } from '../caching/caching-allocator.js';
import type { Recording } from '../replay/recording.js';
import { restoreState } from '../replay/restore-state.js';
import { allocationSize, roundSize } from '../rounding.js';
import { type AllocatorSettings, PAGE_BYTES } from '../settings.js';
import type { AllocatorVariant } from '../variants.js';
import { BudgetDriver } from './budget-driver.js';
import { OPERATION, type Operations } from './operations.js';

/**
 * What is live before the first entry, laid out as
 * `recorded`: it was recorded, in its own kind of segments;
 * `recorded_cuda_malloc`: it was recorded, all of it in cudaMalloc segments, which is the worst for expandable
 * segments; `packed`: one after the other into an empty allocator with the new settings, which is the best that could
 * be hoped for.
 */
export type StartLayout = 'recorded' | 'recorded_cuda_malloc' | 'packed';

/** Changes to what the program asked for. */
export interface Edits {
  /** Requested bytes by allocation; 0 = it is never made. */
  readonly bytesOf?: (allocation: number, bytes: number) => number;
  /** Allocations freed just before the last request that failed in the record. */
  readonly freedBeforeOom?: ReadonlySet<number>;
}

export interface Simulation {
  readonly settings: AllocatorSettings;
  readonly variant: AllocatorVariant;
  /** Bytes this allocator may have when the last recorded OOM is raised, and after it; Infinity = no limit. */
  readonly budgetBytes: number;
  /** How much more it could have before: what others took of the device meanwhile. */
  readonly takenByOthersBytes?: number;
  /** The limit of a memory fraction, which applies in addition. */
  readonly allowedBytes?: number;
  readonly start: StartLayout;
  /** Whether new addresses are above or below all recorded ones; ties between free blocks depend on it. */
  readonly direction: 'ascending' | 'descending';
  readonly edits?: Edits;
  /** Sees the reserve, and the allocator, after every operation. */
  readonly after?: (seq: number, reservedBytes: number, allocator: CachingAllocator<never>) => void;
}

export interface SimulatedOom {
  /** Entry of the request that fails; −1: what is live at the start does not even fit. */
  readonly seq: number;
  readonly requestedBytes: number;
  readonly reservedBytes: number;
  readonly activeBytes: number;
  /** How much more the driver would have had to give. */
  readonly shortBytes: number;
}

export interface SimulationResult {
  /** The request that fails and did not fail in the record, or the last that failed there too; null: all are served. */
  readonly oom: SimulatedOom | null;
  readonly startReservedBytes: number;
  readonly peakReservedBytes: number;
  /**
   * Most reserved as long as frees complete when the record shows it: until the record, or this device, waits for
   * pending frees where the other does not.
   */
  readonly sureReservedBytes: number;
  /** Most reserved from that wait on; 0: there is none. */
  readonly openReservedBytes: number;
  readonly peakActiveBytes: number;
  readonly peakActiveSeq: number;
  /** Reserved and not active when most is reserved. */
  readonly unusedAtPeakBytes: number;
  readonly driverCalls: number;
  /** Flushes that a failing request forced. */
  readonly retries: number;
  /** Whether the budget decided anything. */
  readonly isLimited: boolean;
}

const ABOVE_ALL_ADDRESSES = 2 ** 50;

/**
 * O(operations). The trace is followed to its end also behind a request that failed in the record and is served now; it
 * is given back at once, as the program went on without it.
 */
export function simulate(recording: Recording, operations: Operations, simulation: Simulation): SimulationResult {
  const { settings, variant, budgetBytes, edits, after } = simulation;
  const { start } = recording;
  let held = 0;
  let lowest = ABOVE_ALL_ADDRESSES;
  if (simulation.start !== 'packed') {
    for (let i = 0; i < start.segments.count; i += 1) {
      held += start.segments.totalBytes[i]!;
      lowest = Math.min(lowest, start.segments.address[i]!);
    }
  }
  const base =
    simulation.direction === 'ascending' ? ABOVE_ALL_ADDRESSES : Math.floor(lowest / PAGE_BYTES) * PAGE_BYTES;
  const taken = simulation.takenByOthersBytes ?? 0;
  const { reservationBytes, outsideBytes } = recording;
  // Which free block fits best depends on how far a reservation can grow, and that on the device's total.
  const total = outsideBytes === undefined || !Number.isFinite(budgetBytes) ? undefined : budgetBytes + outsideBytes;
  const driver = new BudgetDriver(budgetBytes + taken, held, base, simulation.direction, reservationBytes, total);
  const allocator = new CachingAllocator<never>({
    driver,
    settings,
    variant,
    ...(simulation.allowedBytes === undefined ? {} : { allowedBytes: simulation.allowedBytes }),
  });
  const { statistics } = allocator;
  const blocks = new Array<Block<never> | undefined>(allocationsOf(recording, operations)).fill(undefined);
  const bytesOf = edits?.bytesOf;
  const oomOf = (seq: number, requestedBytes: number): SimulatedOom => ({
    seq,
    requestedBytes,
    reservedBytes: statistics.reservedBytes.current,
    activeBytes: statistics.activeBytes.current,
    shortBytes: shortOf(requestedBytes),
  });
  const shortOf = (requestedBytes: number): number => {
    const { allowedBytes } = allocator;
    const asked = allocationSize(roundSize(requestedBytes, settings), settings);
    const overLimit = allowedBytes === null ? 0 : statistics.reservedBytes.current + asked - allowedBytes;
    return overLimit > 0 ? overLimit : driver.refusedBytes - driver.freeAtRefusal;
  };
  const request = (pool: number, bytes: number, stream: number): Block<never> | null => {
    if (pool === 0) {
      const reused = allocator.reuse(bytes, stream);
      if (reused !== null) return reused;
      const grown = allocator.grow(bytes, stream);
      return grown.ok ? grown.block : null;
    }
    const id = recording.poolId(pool);
    allocator.addPool(id, { customAllocator: recording.customPools.has(pool) });
    allocator.beginCapture(id, stream);
    // A trace that makes no sense may ask for nothing; every size below 512 is the same block.
    const result = allocator.malloc(Math.max(1, bytes), stream);
    allocator.endCapture(id);
    return result.ok ? result.block : null;
  };

  let oom: SimulatedOom | null = null;
  let isLimited = false;
  if (simulation.start === 'packed') oom = pack(recording, allocator, blocks, request, bytesOf, oomOf);
  else {
    const restored = restoreState(allocator.parts(), start, {
      poolId: recording.poolId,
      reservationStarts: recording.reservationStarts,
      largeUnitBytes: recording.settings.largeSegmentBytes,
      reservationBytes: recording.reservationBytes,
      customPools: recording.customPools,
      asCudaMalloc: simulation.start === 'recorded_cuda_malloc',
    });
    for (let row = 0; row < restored.length; row += 1) {
      blocks[row] = restored[row];
      restored[row]!.owner = row;
    }
    if (bytesOf !== undefined)
      for (let row = 0; row < restored.length; row += 1)
        if (bytesOf(row, start.blocks.requestedBytes[row]!) === 0) release(allocator, blocks, row);
    // A smaller device than the recorded one: what is only cached would never have been kept on it.
    const most = Math.min(budgetBytes + taken, simulation.allowedBytes ?? Number.POSITIVE_INFINITY);
    if (statistics.reservedBytes.current > most) {
      isLimited = true;
      allocator.flush();
    }
    const { current } = statistics.reservedBytes;
    if (current > most) oom = { ...oomOf(-1, 0), shortBytes: current - most };
  }
  for (const gauge of [statistics.reservedBytes, statistics.activeBytes]) gauge.peak = gauge.current;
  const startReservedBytes = statistics.reservedBytes.current;
  const startCalls = driver.calls;
  const startRetries = statistics.numAllocRetries;
  let peakReserved = startReservedBytes;
  let peakActive = statistics.activeBytes.current;
  let peakActiveSeq = -1;
  let unusedAtPeak = startReservedBytes - peakActive;
  let sureReserved = startReservedBytes;
  let openReserved = 0;
  let isSure = true;
  let servedOom: Block<never> | null = null;
  const { firstForcedSeq, count, completes, kind, allocation, bytes, stream, pool, seq } = operations;
  const lastOom = kind.lastIndexOf(OPERATION.oom);
  /** Freed, and waiting for other streams: by stream, the oldest first. */
  const waiting = new Map<number, Set<number>>();
  const waitingOn = (of: number): Set<number> => {
    let known = waiting.get(of);
    if (known === undefined) {
      known = new Set();
      waiting.set(of, known);
    }
    return known;
  };
  const complete = (id: number, of: number): void => {
    waiting.get(of)?.delete(id);
    release(allocator, blocks, id);
  };
  /** Of these, what a cudaFree has waited for since: the next request finds it completed. */
  let settled: (readonly [number, number])[] = [];
  let frees = driver.frees;
  for (let i = 0; i < count && oom === null; i += 1) {
    const id = allocation[i]!;
    const isPending = statistics.activeBytes.current > statistics.allocatedBytes.current;
    const waits = driver.frees + statistics.numAllocRetries;
    isSure &&= seq[i]! < firstForcedSeq;
    switch (kind[i]) {
      case OPERATION.alloc: {
        const requested = bytesOf === undefined ? bytes[i]! : bytesOf(id, bytes[i]!);
        if (requested === 0) break;
        for (const [done, of] of settled) complete(done, of);
        settled = [];
        const block = request(pool[i]!, requested, stream[i]!);
        if (block === null) oom = oomOf(seq[i]!, requested);
        else {
          blocks[id] = block;
          block.owner = id;
        }
        break;
      }
      case OPERATION.free:
        release(allocator, blocks, id);
        break;
      case OPERATION.completeFree: {
        const [oldest] = completes === 'oldest' ? waitingOn(stream[i]!) : [];
        complete(oldest ?? id, stream[i]!);
        break;
      }
      case OPERATION.requestFree: {
        const block = blocks[id];
        if (block?.state === 'active_allocated') {
          allocator.requestFree(block);
          waitingOn(stream[i]!).add(id);
        }
        break;
      }
      case OPERATION.flush:
        allocator.flush();
        break;
      case OPERATION.releasePool:
        allocator.dropPool(recording.poolId(pool[i]!));
        break;
      default:
        if (i === lastOom) {
          driver.budgetBytes = budgetBytes;
          for (const early of edits?.freedBeforeOom ?? []) release(allocator, blocks, early);
        }
        servedOom = request(pool[i]!, bytes[i]!, stream[i]!);
        if (servedOom === null && i === lastOom) oom = oomOf(seq[i]!, bytes[i]!);
    }
    // The program's own flushes wait in the record too.
    if (isPending && kind[i] !== OPERATION.flush && driver.frees + statistics.numAllocRetries > waits) isSure = false;
    if (driver.frees > frees) {
      frees = driver.frees;
      settled = [...waiting].flatMap(([of, ids]) => [...ids].map((one) => [one, of] as const));
    }
    const reserved = statistics.reservedBytes.current;
    const active = statistics.activeBytes.current;
    if (isSure) sureReserved = Math.max(sureReserved, reserved);
    else openReserved = Math.max(openReserved, reserved);
    if (active > peakActive) {
      peakActive = active;
      peakActiveSeq = seq[i]!;
    }
    if (reserved > peakReserved) {
      peakReserved = reserved;
      unusedAtPeak = reserved - active;
    }
    if (servedOom !== null) {
      allocator.free(servedOom);
      servedOom = null;
    }
    after?.(seq[i]!, reserved, allocator);
  }
  return {
    oom,
    startReservedBytes,
    // A flush inside one request can lower the reserve again before it returns.
    peakReservedBytes: Math.max(peakReserved, statistics.reservedBytes.peak),
    sureReservedBytes: sureReserved,
    openReservedBytes: openReserved,
    peakActiveBytes: peakActive,
    peakActiveSeq,
    unusedAtPeakBytes: unusedAtPeak,
    driverCalls: driver.calls - startCalls,
    retries: statistics.numAllocRetries - startRetries,
    isLimited: isLimited || driver.refusedBytes > 0,
  };
}

/** Number of the allocations that the operations and the start are about. */
function allocationsOf({ start }: Recording, { count, kind, allocation }: Operations): number {
  const last = kind.lastIndexOf(OPERATION.alloc, count - 1);
  return Math.max(start.blocks.count, count === 0 || last < 0 ? 0 : allocation[last]! + 1);
}

/** The recorded settings without a limit: `after` sees every operation. */
export function followRecording(
  recording: Recording,
  operations: Operations,
  variant: AllocatorVariant,
  after: NonNullable<Simulation['after']>,
): void {
  const { settings } = recording;
  const [budgetBytes, start, direction] = [Number.POSITIVE_INFINITY, 'recorded', 'ascending'] as const;
  simulate(recording, operations, { settings, variant, budgetBytes, start, direction, after });
}

/** Frees a live block of the start or of the trace, if there is one. */
function release(allocator: CachingAllocator<never>, blocks: (Block<never> | undefined)[], allocation: number): void {
  const block = blocks[allocation];
  blocks[allocation] = undefined;
  // A flush may have completed its free before, and the block may serve another allocation by now.
  if (block?.owner !== allocation) return;
  if (block.state === 'active_pending_free') allocator.completeFree(block);
  else if (block.state === 'active_allocated') allocator.free(block);
}

/** Allocates what is live at the start in ascending order of recorded address. */
function pack(
  { start }: Recording,
  allocator: CachingAllocator<never>,
  blocks: (Block<never> | undefined)[],
  request: (pool: number, bytes: number, stream: number) => Block<never> | null,
  bytesOf: Edits['bytesOf'],
  oomOf: (seq: number, bytes: number) => SimulatedOom,
): SimulatedOom | null {
  for (let row = 0; row < start.blocks.count; row += 1) {
    const segment = start.blocks.segment[row]!;
    const requested = start.blocks.requestedBytes[row]!;
    const known = requested > 0 ? requested : start.blocks.sizeBytes[row]!;
    const bytes = bytesOf === undefined ? known : bytesOf(row, known);
    if (bytes === 0) continue;
    const stream = start.segments.stream[segment]!;
    const block = request(start.segments.pool[segment]!, bytes, Number.isNaN(stream) ? 0 : stream);
    if (block === null) return oomOf(-1, bytes);
    blocks[row] = block;
    block.owner = row;
    if (start.blocks.state[row] === 1) allocator.requestFree(block);
  }
  return null;
}

/** Random histories over everything the allocator model can do, and what must hold after any of them. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { createDriver } from '../../samples/generate/simulate/simulated-driver.js';
import { type Block, isExpandable, type PoolId } from '../../src/allocator/caching/block.js';
import { CachingAllocator, type TraceEntry } from '../../src/allocator/caching/caching-allocator.js';
import type { OomReport } from '../../src/allocator/oom-report.js';
import { allocationSize } from '../../src/allocator/rounding.js';
import { type AllocatorSettings, readAllocConf } from '../../src/allocator/settings.js';
import { ALLOCATOR_VARIANTS } from '../../src/allocator/variants.js';
import type { FinalState, WalkEvents } from '../../src/allocator/walk/walk-input.js';
import { MIB } from '../../src/model/units.js';
import { type EventRow, finalState, type SnapshotRows, walkEvents } from '../support/snapshot-rows.js';
import { BackwardWalk } from './walk/backward-walk.js';

export type Step =
  | { readonly kind: 'malloc'; readonly bytes: number; readonly stream: number }
  | { readonly kind: 'free'; readonly pick: number }
  | { readonly kind: 'record_stream'; readonly pick: number; readonly stream: number }
  | { readonly kind: 'finish_stream'; readonly stream: number }
  | { readonly kind: 'flush' }
  | { readonly kind: 'outside'; readonly part: number }
  /** Begins a graph capture or a use_mem_pool, or ends the one in progress. */
  | { readonly kind: 'pool'; readonly pick: number }
  | { readonly kind: 'release_pool'; readonly pick: number };

export interface History {
  readonly conf: string;
  readonly memoryFraction: number | undefined;
  readonly release: keyof typeof ALLOCATOR_VARIANTS;
  readonly budgetMiB: number;
  readonly direction: 'ascending' | 'descending';
  readonly steps: readonly Step[];
}

const STREAMS = [0, 0, 0, 94_000_000_000_000, 7] as const;
const stream = fc.constantFrom(...STREAMS);

const bytes = fc.oneof(
  fc.integer({ min: 1, max: 4096 }),
  fc.integer({ min: 1, max: 2 * MIB }),
  fc.integer({ min: MIB, max: 24 * MIB }),
  fc.integer({ min: MIB, max: 200 * MIB }),
  // Round sizes, where the boundaries of the rules and the ties are.
  fc.integer({ min: 1, max: 80 }).map((halves) => halves * (MIB / 2)),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: fc.record({ kind: fc.constant('malloc' as const), bytes, stream }) },
  { weight: 20, arbitrary: fc.record({ kind: fc.constant('free' as const), pick: fc.nat() }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('record_stream' as const), pick: fc.nat(), stream }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('finish_stream' as const), stream }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'flush' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('outside' as const), part: fc.double({ min: 0, max: 0.6, noNaN: true }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pool' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release_pool' as const), pick: fc.nat() }) },
);

/** Every option, alone and together with the others. */
const conf = fc
  .record({
    expandable: fc.constantFrom('', 'expandable_segments:True', 'expandable_segments:False'),
    maxSplit: fc.constantFrom('', '', 'max_split_size_mb:20', 'max_split_size_mb:64', 'max_split_size_mb:128'),
    nonSplit: fc.constantFrom('', '', 'max_non_split_rounding_mb:40'),
    roundup: fc.constantFrom(
      '',
      '',
      'roundup_power2_divisions:4',
      'roundup_power2_divisions:8',
      'roundup_power2_divisions:[16:1,64:4,>:8]',
    ),
    collection: fc.constantFrom('', 'garbage_collection_threshold:0.3', 'garbage_collection_threshold:0.8'),
    largeSegment: fc.constantFrom('', '', 'large_segment_size_mb:12', 'large_segment_size_mb:64'),
  })
  .map((parts) => Object.values(parts).filter(Boolean).join(','))
  // Torch refuses max_split_size below the size of shared segments.
  .filter((text) => readAllocConf(text).problems.length === 0);

export const history: fc.Arbitrary<History> = fc.record({
  conf,
  memoryFraction: fc.constantFrom(undefined, undefined, 0.5, 0.9),
  release: fc.constantFrom(...(Object.keys(ALLOCATOR_VARIANTS) as (keyof typeof ALLOCATOR_VARIANTS)[])),
  budgetMiB: fc.integer({ min: 32, max: 1024 }).map((pages) => 2 * pages),
  direction: fc.constantFrom('ascending' as const, 'descending' as const),
  steps: fc.array(step, { minLength: 10, maxLength: 110, size: 'max' }),
});

export interface PlayOptions {
  /**
   * The device is far larger than what the allocator may have of it, so that no reservation of address space is ever
   * used up: where a reservation ends is in no recording.
   */
  readonly isRoomy?: boolean;
}

const ROOMY_BYTES = 2 ** 44;

export interface Played {
  readonly allocator: CachingAllocator<number>;
  readonly trace: readonly TraceEntry<number>[];
  readonly ooms: readonly OomReport[];
  readonly settings: AllocatorSettings;
}

/** Runs a history, calling `check` from time to time and at the end. */
export function play(past: History, check: (played: Played) => void, { isRoomy = false }: PlayOptions = {}): Played {
  const trace: TraceEntry<number>[] = [];
  const ooms: OomReport[] = [];
  const budgetBytes = past.budgetMiB * MIB;
  const totalBytes = isRoomy ? ROOMY_BYTES : budgetBytes;
  const baseAddress = isRoomy ? 2 ** 50 : 2 ** 45;
  const driver = createDriver({ totalBytes, baseAddress, direction: past.direction });
  driver.setNonTorchBytes(totalBytes - budgetBytes);
  const { settings, problems } = readAllocConf(past.conf);
  expect(problems).toEqual([]);
  const allocator = new CachingAllocator<number>({
    driver,
    settings,
    variant: ALLOCATOR_VARIANTS[past.release],
    ...(past.memoryFraction === undefined ? {} : { allowedBytes: Math.floor(past.memoryFraction * budgetBytes) }),
    trace: (entry) => trace.push(entry),
  });
  const played = { allocator, trace, ooms, settings };
  const held: PoolId[] = [
    allocator.createPool(),
    allocator.createPool({ kind: 'user' }),
    allocator.createPool({ kind: 'user', useOnOom: true }),
    allocator.createPool({ kind: 'user', customAllocator: true }),
  ];
  let ending: (() => void) | null = null;
  let live: Block<number>[] = [];
  for (const [index, action] of past.steps.entries()) {
    if (action.kind === 'malloc') {
      const result = allocator.malloc(action.bytes, action.stream, index, index);
      if (result.ok) live.push(result.block);
      else ooms.push(result.oom);
    } else if (action.kind === 'free') {
      const [block] = live.splice(live.length === 0 ? 0 : action.pick % live.length, 1);
      if (block !== undefined) allocator.free(block, null, index);
    } else if (action.kind === 'record_stream') {
      const block = live[action.pick % Math.max(1, live.length)];
      if (block !== undefined) allocator.recordStream(block, action.stream);
    } else if (action.kind === 'finish_stream') {
      allocator.finishStream(action.stream);
    } else if (action.kind === 'flush') {
      allocator.flush(null, index);
    } else if (action.kind === 'outside') {
      // What does not fit is refused by the driver, as in life.
      driver.setNonTorchBytes(totalBytes - budgetBytes + Math.floor(action.part * budgetBytes));
    } else if (action.kind === 'pool') {
      if (ending !== null) {
        ending();
        ending = null;
      } else if (held.length > 0) {
        const pool = held[action.pick % held.length]!;
        if (pool[1] === 0) {
          allocator.beginCapture(pool, STREAMS[action.pick % STREAMS.length]!);
          ending = () => allocator.endCapture(pool);
        } else {
          allocator.beginUsePool(pool);
          ending = () => allocator.endUsePool(pool);
        }
      }
    } else if (held.length > 0 && ending === null) {
      const [pool] = held.splice(action.pick % held.length, 1);
      allocator.releasePool(pool!);
    }
    if (index % 37 === 36) check(played);
  }
  live = [];
  check(played);
  return played;
}

/** Whatever a history did: structure, sums, sets, budget, and that the trace alone gives the state. */
export function checkInvariants({ allocator, trace, settings }: Played, totalBytes: number): void {
  checkStructure(allocator);
  checkSums(allocator, totalBytes);
  checkForward(allocator, trace);
  checkBackward(allocator, trace, settings);
}

function checkStructure(allocator: CachingAllocator<number>): void {
  const sets = new Set(allocator.freeBlocks());
  let free = 0;
  const extents: [number, number][] = [];
  for (const segment of allocator.allSegments()) {
    extents.push([segment.addr, segment.addr + segment.sizeBytes]);
    let at = segment.addr;
    let previous: Block<number> | null = null;
    for (let block: Block<number> | null = segment.first; block !== null; block = block.next) {
      if (block.addr !== at || block.prev !== previous || block.segment !== segment || block.sizeBytes <= 0)
        throw new Error('blocks do not tile their segment');
      if (block.sizeBytes % 512 !== 0) throw new Error('a block is not a multiple of 512');
      if (!block.mapped && (!isExpandable(block) || block.state !== 'inactive'))
        throw new Error('an unmapped block is in use or in a cudaMalloc segment');
      const inactive = block.state === 'inactive';
      if (previous !== null && inactive && previous.state === 'inactive' && previous.mapped === block.mapped)
        throw new Error('two free neighbours were not joined');
      if (!inactive && block.requestedBytes > block.sizeBytes) throw new Error('a block is smaller than its request');
      if (inactive && block.mapped) {
        free += 1;
        if (!sets.has(block)) throw new Error('a free block is in no set');
      }
      at += block.sizeBytes;
      previous = block;
    }
    if (at !== segment.addr + segment.sizeBytes) throw new Error('blocks do not cover their segment');
  }
  if (free !== sets.size) throw new Error('a set holds a block that is not free');
  extents.sort((a, b) => a[0] - b[0]);
  for (let i = 1; i < extents.length; i += 1) {
    if (extents[i]![0] < extents[i - 1]![1]) throw new Error('segments overlap');
  }
}

function checkSums(allocator: CachingAllocator<number>, totalBytes: number): void {
  const { statistics, allowedBytes } = allocator;
  const sums = { reserved: 0, allocated: 0, active: 0, requested: 0, split: 0, splitBytes: 0, segments: 0, blocks: 0 };
  for (const segment of allocator.snapshot()) {
    sums.reserved += segment.totalBytes;
    sums.allocated += segment.allocatedBytes;
    sums.active += segment.activeBytes;
    sums.requested += segment.requestedBytes;
    if (!segment.isExpandable) sums.segments += 1;
    for (const block of segment.blocks) {
      if (block.state === 'active_allocated') sums.blocks += 1;
      if (block.state === 'inactive' && !segment.isExpandable && segment.blocks.length > 1) {
        sums.split += 1;
        sums.splitBytes += block.sizeBytes;
      }
    }
  }
  expect({
    reserved: statistics.reservedBytes.current,
    allocated: statistics.allocatedBytes.current,
    active: statistics.activeBytes.current,
    requested: statistics.requestedBytes.current,
    split: statistics.inactiveSplit.current,
    splitBytes: statistics.inactiveSplitBytes.current,
    segments: statistics.segment.current,
    blocks: statistics.allocation.current,
  }).toEqual(sums);
  expect(statistics.reservedBytes.peak).toBeLessThanOrEqual(totalBytes);
  // Torch compares the segment size with the limit; mapping rounds to its own unit and can pass it by less than one
  // unit.
  if (allowedBytes !== null && !allocator.settings.expandableSegments)
    expect(statistics.reservedBytes.peak).toBeLessThanOrEqual(allowedBytes);
}

/** From the empty allocator and the trace: the reserved ranges, and what is live in them. */
function checkForward(allocator: CachingAllocator<number>, trace: readonly TraceEntry<number>[]): void {
  const pages = new Map<number, number>();
  const live = new Map<number, { requested: number; pending: boolean }>();
  const fail = (what: string): never => {
    throw new Error(`the trace contradicts itself: ${what}`);
  };
  for (const { action, addr, sizeBytes } of trace) {
    if (addr === null) continue;
    if (action === 'segment_alloc' || action === 'segment_map') {
      for (let page = addr; page < addr + sizeBytes; page += 2 * MIB) {
        if (pages.has(page)) fail('a page is obtained twice');
        pages.set(page, addr);
      }
    } else if (action === 'segment_free' || action === 'segment_unmap') {
      for (let page = addr; page < addr + sizeBytes; page += 2 * MIB)
        if (!pages.delete(page)) fail('a page is not there');
    } else if (action === 'alloc') {
      if (live.has(addr)) fail('an address is allocated twice');
      live.set(addr, { requested: sizeBytes, pending: false });
    } else if (action === 'free_requested') {
      const block = live.get(addr);
      if (block === undefined || block.pending || block.requested !== sizeBytes) fail('a free without its allocation');
      else block.pending = true;
    } else if (action === 'free_completed') {
      if (live.get(addr)?.pending !== true) fail('a completion without its request');
      live.delete(addr);
    }
  }
  const segments = allocator.snapshot();
  const shown = segments.flatMap(({ addr, totalBytes }) =>
    Array.from({ length: totalBytes / (2 * MIB) }, (_, i) => addr + i * 2 * MIB),
  );
  expect([...pages.keys()].sort((a, b) => a - b)).toEqual(shown);
  const active = segments.flatMap((segment) =>
    segment.blocks
      .filter((block) => block.state !== 'inactive')
      .map((block) => [block.addr, block.requestedBytes, block.state === 'active_pending_free']),
  );
  expect(
    [...live].sort(([a], [b]) => a - b).map(([addr, { requested, pending }]) => [addr, requested, pending]),
  ).toEqual(active);
}

/** From the snapshot backwards through the trace: no contradiction down to the empty allocator, and the same peaks. */
function checkBackward(
  allocator: CachingAllocator<number>,
  trace: readonly TraceEntry<number>[],
  settings: AllocatorSettings,
): void {
  const final = finalStateOf(allocator);
  const walk = new BackwardWalk(final, settings);
  walk.undo(eventsOf(trace));
  walk.finish();
  expect(walk.violations).toEqual([]);
  expect(walk.empty).toBe(true);
  expect(walk.peakReserved.bytes).toBe(allocator.statistics.reservedBytes.peak);
  expect(walk.peak.bytes).toBe(allocator.statistics.activeBytes.peak);
}

/**
 * An OOM is one only if the request could not be had: the limit or the device lacked it, and nothing free would have
 * served.
 */
export function checkOom(report: OomReport, settings: AllocatorSettings): void {
  expect(report.segmentBytes).toBe(allocationSize(report.roundedBytes, settings));
  expect(report.roundedBytes).toBeGreaterThanOrEqual(report.requestedBytes);
  expect(report.reservedBytes).toBeGreaterThanOrEqual(report.allocatedBytes + report.privatePoolFreeBytes);
}

/** The allocator as a dump shows it. */
export function finalStateOf(allocator: CachingAllocator<number>): FinalState {
  return finalState(dumpRows(allocator));
}

/** The same as rows. */
export function dumpRows(allocator: CachingAllocator<number>): Pick<SnapshotRows, 'segments' | 'blocks'> {
  const segments = allocator.snapshot();
  const pools = ['0,0', ...new Set(segments.map((segment) => segment.poolId.join()))];
  return {
    segments: segments.map(({ addr, totalBytes, stream: of, segmentType, poolId, isExpandable }) => ({
      address: addr,
      bytes: totalBytes,
      stream: of,
      type: segmentType,
      pool: pools.indexOf(poolId.join()),
      expandable: isExpandable,
    })),
    blocks: segments
      .flatMap((segment) => segment.blocks)
      .map(({ addr, sizeBytes, requestedBytes, state }) => ({
        address: addr,
        bytes: sizeBytes,
        requested: requestedBytes,
        state,
      })),
  };
}

export function eventRows(trace: readonly TraceEntry<number>[]): EventRow[] {
  // Requests that ran out of memory have no address.
  return trace.map(({ action, addr, sizeBytes, stream: of }) => ({
    action,
    address: addr ?? 0,
    bytes: sizeBytes,
    stream: of,
  }));
}

/** A trace as columns. */
export function eventsOf(trace: readonly TraceEntry<number>[]): WalkEvents {
  return walkEvents(eventRows(trace));
}

/**
 * A model of PyTorch's CUDA caching allocator. Upstream: `DeviceCachingAllocator` in torch `c10/cuda/CUDACachingAllocator.cpp`, as of
 * 2.1 to 2.11 (equal sizes are ordered by address).
 *
 * Modelled: the default small and large pools, any number of streams, cudaMalloc segments. Not modelled yet: expandable segments,
 * max_split_size, garbage collection, a memory fraction, private pools, record_stream; settings that need them are refused.
 */
import { MbfError } from '../model/errors.js';
import type { BlockState, TraceAction } from '../model/vocabulary.js';
import { type Block, isSplit, type Pool, type Segment } from './block.js';
import type { Driver } from './driver.js';
import { FreeSet } from './free-set.js';
import type { OomReport } from './oom-message.js';
import { allocationSize, isSmall, roundSize } from './rounding.js';
import { type AllocatorSettings, DEFAULT_SETTINGS, LARGE_REMAINDER_BYTES, MIN_BLOCK_BYTES } from './settings.js';
import { type AllocatorStatistics, createStatistics, move } from './statistics.js';

/** One entry of `device_traces`, with the meanings of a snapshot: see `EVENT_LAYOUT` for `sizeBytes`. */
export interface TraceEntry<S> {
  readonly action: TraceAction;
  /** Null on `oom`. */
  readonly addr: number | null;
  readonly sizeBytes: number;
  readonly stream: number;
  /** Whatever the caller passed; null if it passed none. */
  readonly timeUs: number | null;
  /** Only on `oom`, else null. */
  readonly deviceFreeBytes: number | null;
  readonly stack: S | null;
}

export interface BlockSnapshot<S> {
  readonly addr: number;
  readonly sizeBytes: number;
  /** Stale on inactive blocks, as in torch. */
  readonly requestedBytes: number;
  readonly state: BlockState;
  readonly stack: S | null;
}

export interface SegmentSnapshot<S> {
  readonly addr: number;
  readonly totalBytes: number;
  readonly allocatedBytes: number;
  readonly activeBytes: number;
  /** Σ requested bytes of the active blocks. */
  readonly requestedBytes: number;
  readonly stream: number;
  readonly segmentType: 'small' | 'large';
  readonly poolId: readonly [number, number];
  readonly isExpandable: boolean;
  readonly stack: S | null;
  readonly blocks: readonly BlockSnapshot<S>[];
}

/** An allocation or the reason there is none; running out of memory is an answer of the model, not an error. */
export type MallocResult<S> =
  | { readonly ok: true; readonly block: Block<S> }
  | { readonly ok: false; readonly oom: OomReport };

export interface CachingAllocatorOptions<S> {
  readonly driver: Driver;
  readonly settings?: AllocatorSettings;
  /** Receives every trace entry at the moment torch would record it. */
  readonly trace?: (entry: TraceEntry<S>) => void;
}

/** The settings this model does not cover yet, as torch spells them; empty if it covers them all. */
export function unmodelledSettings(settings: AllocatorSettings): string[] {
  const names: string[] = [];
  if (settings.expandableSegments) names.push('expandable_segments:True');
  if (Number.isFinite(settings.maxSplitBytes)) names.push('max_split_size_mb');
  if (settings.garbageCollectionThreshold > 0) names.push('garbage_collection_threshold');
  return names;
}

/** `S` is the caller's stack reference; the model only passes it on. A class because its state is the hot path of every replay. */
export class CachingAllocator<S = unknown> {
  readonly settings: AllocatorSettings;
  readonly statistics: AllocatorStatistics = createStatistics();
  private readonly driver: Driver;
  private readonly trace: ((entry: TraceEntry<S>) => void) | undefined;
  private readonly small: Pool<S> = { id: [0, 0], kind: 'small', freeSets: new Map() };
  private readonly large: Pool<S> = { id: [0, 0], kind: 'large', freeSets: new Map() };
  private readonly segments = new Set<Segment<S>>();

  /** Throws MBF9001 for settings outside {@link unmodelledSettings}' cover: a silently ignored setting would be a wrong answer. */
  constructor(options: CachingAllocatorOptions<S>) {
    this.settings = options.settings ?? DEFAULT_SETTINGS;
    this.driver = options.driver;
    this.trace = options.trace;
    const unmodelled = unmodelledSettings(this.settings);
    if (unmodelled.length > 0) {
      throw new MbfError('MBF9001', `the allocator model does not cover ${unmodelled.join(', ')} yet`);
    }
  }

  /**
   * Allocates `requestedBytes` (a positive integer; torch answers zero-byte requests without its allocator). `stack` and `timeUs` go
   * into the trace entries this call causes, the segment_free entries of a flush included.
   */
  malloc(
    requestedBytes: number,
    stream: number,
    stack: S | null = null,
    timeUs: number | null = null,
  ): MallocResult<S> {
    if (!Number.isSafeInteger(requestedBytes) || requestedBytes < 1) {
      throw new MbfError('MBF9001', `allocator model: malloc of ${requestedBytes} bytes`);
    }
    const rounded = roundSize(requestedBytes, this.settings);
    const pool = isSmall(rounded) ? this.small : this.large;
    let block = this.takeFree(pool, stream, rounded);
    if (block === undefined) {
      const segmentBytes = allocationSize(rounded, this.settings);
      block = this.newSegment(pool, stream, segmentBytes, stack, timeUs);
      if (block === undefined) {
        this.flush(stack, timeUs);
        this.statistics.numAllocRetries += 1;
        block = this.newSegment(pool, stream, segmentBytes, stack, timeUs);
      }
      if (block === undefined) return this.fail(requestedBytes, rounded, segmentBytes, stream, stack, timeUs);
    }
    block = this.carve(block, rounded);
    block.requestedBytes = requestedBytes;
    block.state = 'active_allocated';
    block.stack = stack;
    const statistics = this.statistics;
    move(statistics.allocation, 1);
    move(statistics.allocatedBytes, block.sizeBytes);
    move(statistics.activeBytes, block.sizeBytes);
    move(statistics.requestedBytes, requestedBytes);
    if (this.trace !== undefined) this.record('alloc', block.addr, requestedBytes, stream, stack, timeUs);
    return { ok: true, block };
  }

  /**
   * Frees a live block. `stack` is the stack of the free (recording with context="all"); without one the entries carry the stack of the
   * allocation, as torch does with context="alloc".
   */
  free(block: Block<S>, stack: S | null = null, timeUs: number | null = null): void {
    if (block.state !== 'active_allocated')
      throw new MbfError('MBF9001', `allocator model: free of a ${block.state} block`);
    const statistics = this.statistics;
    const freeStack = stack ?? block.stack;
    move(statistics.allocation, -1);
    move(statistics.allocatedBytes, -block.sizeBytes);
    if (this.trace !== undefined) {
      this.record('free_requested', block.addr, block.requestedBytes, block.segment.stream, freeStack, timeUs);
    }
    this.complete(block, freeStack, timeUs);
  }

  /** Gives every wholly free segment back to the driver: `torch.cuda.empty_cache()`, and the last resort of a failing malloc. */
  flush(stack: S | null = null, timeUs: number | null = null): void {
    this.release(this.large, stack, timeUs);
    this.release(this.small, stack, timeUs);
  }

  /** The segments and blocks as a snapshot shows them, both in address order. */
  snapshot(): SegmentSnapshot<S>[] {
    return [...this.segments].sort((a, b) => a.addr - b.addr).map((segment) => snapshotSegment(segment));
  }

  private takeFree(pool: Pool<S>, stream: number, rounded: number): Block<S> | undefined {
    const block = pool.freeSets.get(stream)?.takeAtLeast(rounded);
    if (block !== undefined) this.countInactive(block, -1);
    return block;
  }

  private putFree(block: Block<S>): void {
    const { pool, stream } = block.segment;
    let set = pool.freeSets.get(stream);
    if (set === undefined) {
      set = new FreeSet();
      pool.freeSets.set(stream, set);
    }
    block.tie = block.addr;
    set.insert(block);
    this.countInactive(block, 1);
  }

  private dropFree(block: Block<S>): void {
    const { pool, stream } = block.segment;
    pool.freeSets.get(stream)!.remove(block);
    this.countInactive(block, -1);
  }

  /** A free block's neighbours come and go only through operations that take it out of its set, so adding and removing balance. */
  private countInactive(block: Block<S>, sign: 1 | -1): void {
    if (isSplit(block)) move(this.statistics.inactiveSplitBytes, sign * block.sizeBytes);
  }

  private newSegment(
    pool: Pool<S>,
    stream: number,
    sizeBytes: number,
    stack: S | null,
    timeUs: number | null,
  ): Block<S> | undefined {
    const addr = this.driver.malloc(sizeBytes);
    if (addr === null) return undefined;
    const segment = { addr, sizeBytes, stream, pool, stack } as Segment<S>;
    segment.first = makeBlock(segment, addr, sizeBytes);
    this.segments.add(segment);
    move(this.statistics.segment, 1);
    move(this.statistics.reservedBytes, sizeBytes);
    this.record('segment_alloc', addr, sizeBytes, stream, stack, timeUs);
    return segment.first;
  }

  /** Cuts the allocation off the front where the rest is worth keeping. The rest stays the old block object, as in torch. */
  private carve(block: Block<S>, rounded: number): Block<S> {
    const rest = block.sizeBytes - rounded;
    const splits = block.segment.pool.kind === 'small' ? rest >= MIN_BLOCK_BYTES : rest > LARGE_REMAINDER_BYTES;
    if (!splits) return block;
    const front = makeBlock(block.segment, block.addr, rounded);
    front.prev = block.prev;
    front.next = block;
    if (front.prev === null) block.segment.first = front;
    else front.prev.next = front;
    block.prev = front;
    block.addr += rounded;
    block.sizeBytes = rest;
    this.putFree(block);
    return front;
  }

  /** Second half of a free, once no stream uses the block any more: the block joins its free neighbours and the free set. */
  private complete(block: Block<S>, stack: S | null, timeUs: number | null): void {
    const statistics = this.statistics;
    move(statistics.activeBytes, -block.sizeBytes);
    move(statistics.requestedBytes, -block.requestedBytes);
    if (this.trace !== undefined) {
      this.record('free_completed', block.addr, block.requestedBytes, block.segment.stream, stack, timeUs);
    }
    block.state = 'inactive';
    block.stack = null;
    const { prev, next } = block;
    if (prev !== null && prev.state === 'inactive') {
      this.dropFree(prev);
      block.addr = prev.addr;
      block.sizeBytes += prev.sizeBytes;
      block.prev = prev.prev;
      if (block.prev === null) block.segment.first = block;
      else block.prev.next = block;
    }
    if (next !== null && next.state === 'inactive') {
      this.dropFree(next);
      block.sizeBytes += next.sizeBytes;
      block.next = next.next;
      if (block.next !== null) block.next.prev = block;
    }
    this.putFree(block);
  }

  /** Returns the wholly free segments of a pool, in the order of torch's set: by stream, then size, then tie-break. */
  private release(pool: Pool<S>, stack: S | null, timeUs: number | null): void {
    for (const [stream, set] of [...pool.freeSets].sort(([a], [b]) => a - b)) {
      for (const block of set.takeWhere((candidate) => !isSplit(candidate))) {
        this.record('segment_free', block.addr, block.sizeBytes, stream, stack ?? block.segment.stack, timeUs);
        this.driver.free(block.addr, block.sizeBytes);
        this.segments.delete(block.segment);
        move(this.statistics.segment, -1);
        move(this.statistics.reservedBytes, -block.sizeBytes);
      }
    }
  }

  private fail(
    requestedBytes: number,
    roundedBytes: number,
    segmentBytes: number,
    stream: number,
    stack: S | null,
    timeUs: number | null,
  ): MallocResult<S> {
    const { totalBytes, freeBytes, processBytes } = this.driver.memory();
    this.statistics.numOoms += 1;
    this.trace?.({
      action: 'oom',
      addr: null,
      sizeBytes: roundedBytes,
      stream,
      timeUs,
      deviceFreeBytes: freeBytes,
      stack,
    });
    return {
      ok: false,
      oom: {
        requestedBytes,
        roundedBytes,
        segmentBytes,
        stream,
        deviceTotalBytes: totalBytes,
        deviceFreeBytes: freeBytes,
        processBytes,
        allocatedBytes: this.statistics.allocatedBytes.current,
        reservedBytes: this.statistics.reservedBytes.current,
      },
    };
  }

  private record(
    action: TraceAction,
    addr: number,
    sizeBytes: number,
    stream: number,
    stack: S | null,
    timeUs: number | null,
  ): void {
    this.trace?.({ action, addr, sizeBytes, stream, timeUs, deviceFreeBytes: null, stack });
  }
}

function makeBlock<S>(segment: Segment<S>, addr: number, sizeBytes: number): Block<S> {
  return {
    addr,
    sizeBytes,
    requestedBytes: 0,
    tie: addr,
    state: 'inactive',
    stack: null,
    prev: null,
    next: null,
    segment,
  };
}

function snapshotSegment<S>(segment: Segment<S>): SegmentSnapshot<S> {
  const blocks: BlockSnapshot<S>[] = [];
  let allocatedBytes = 0;
  let activeBytes = 0;
  let requestedBytes = 0;
  for (let block: Block<S> | null = segment.first; block !== null; block = block.next) {
    if (block.state === 'active_allocated') allocatedBytes += block.sizeBytes;
    if (block.state !== 'inactive') {
      activeBytes += block.sizeBytes;
      requestedBytes += block.requestedBytes;
    }
    const { addr, sizeBytes, state, stack } = block;
    blocks.push({ addr, sizeBytes, requestedBytes: block.requestedBytes, state, stack });
  }
  return {
    addr: segment.addr,
    totalBytes: segment.sizeBytes,
    allocatedBytes,
    activeBytes,
    requestedBytes,
    stream: segment.stream,
    segmentType: segment.pool.kind,
    poolId: segment.pool.id,
    isExpandable: false,
    stack: segment.stack,
    blocks,
  };
}

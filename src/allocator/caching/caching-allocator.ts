/**
 * A model of PyTorch's CUDA caching allocator: every decision it takes, on every setting, for one device. Upstream:
 * `DeviceCachingAllocator` in torch `c10/cuda/CUDACachingAllocator.cpp`, 2.1 to 2.13; where releases differ, see
 * `variants.ts`.
 *
 * Not modelled: the CUDA-IPC collector that frees memory on demand, changes of settings at run time,
 * `throw_on_cudamalloc_oom`, reuse of record_stream blocks inside one capture, and a second thread that frees while
 * cudaMalloc runs.
 */
import { MbfError } from '../../model/errors.js';
import type { TraceAction } from '../../model/vocabulary.js';
import type { OomReport } from '../oom-report.js';
import { allocationSize, isSmall, roundSize } from '../rounding.js';
import { type AllocatorSettings, DEFAULT_SETTINGS, LARGE_REMAINDER_BYTES, MIN_BLOCK_BYTES } from '../settings.js';
import { type AllocatorVariant, DEFAULT_VARIANT } from '../variants.js';
import { type SegmentSnapshot, snapshotSegments } from './allocator-snapshot.js';
import { type Block, isExpandable, isSplit, type Pool, type PoolId, Segment } from './block.js';
import { BlockSpace, setsInOrder } from './block-space.js';
import type { Driver, FreeSegments } from './driver.js';
import { ExpandableSegments, type GrowingEdge } from './expandable-segments.js';
import type { FreeSet } from './free-set.js';
import { PendingFrees } from './pending-frees.js';
import { type PoolOptions, type PoolPair, Pools } from './pools.js';
import { type AllocatorStatistics, createStatistics, move } from './statistics.js';
import { garbageOf, oversizeVictims, wholeSegments } from './victims.js';

export type { SegmentSnapshot } from './allocator-snapshot.js';

/** One entry of `device_traces`, with the meanings of a snapshot: see the table `event` for `sizeBytes`. */
export interface TraceEntry<S> {
  readonly action: TraceAction;
  /** Null on `oom`. */
  readonly addr: number | null;
  readonly sizeBytes: number;
  readonly stream: number;
  /** Written to the file from torch 2.12. */
  readonly poolId: PoolId;
  /** Whatever the caller passed; null if it passed none. */
  readonly timeUs: number | null;
  /** Only on `oom`, else null. */
  readonly deviceFreeBytes: number | null;
  readonly stack: S | null;
}

/** An allocation, or the reason of its failure; out of memory is a result of the model, not an error. */
export type MallocResult<S> =
  | { readonly ok: true; readonly block: Block<S> }
  | { readonly ok: false; readonly oom: OomReport };

/** The parts of the model, for code that restores a recorded state; not for other callers. */
export interface AllocatorParts<S> {
  readonly space: BlockSpace<S>;
  readonly pools: Pools<S>;
  readonly segments: Set<Segment<S>>;
  readonly expandable: ExpandableSegments<S>;
  readonly pending: PendingFrees<S>;
  readonly statistics: AllocatorStatistics;
  nextSegment(): number;
  /** cudaFree of a wholly free segment. */
  releaseSegment(block: Block<S>): void;
  /** Cuts a free block that is in no set to the size of a request, and marks it as allocated. */
  handOut(block: Block<S>, requestedBytes: number): Block<S>;
}

export interface CachingAllocatorOptions<S> {
  readonly driver: Driver;
  readonly settings?: AllocatorSettings;
  /** `set_per_process_memory_fraction`: a limit of this part, in (0, 1], of the device's total. */
  readonly memoryFraction?: number;
  /** The same limit in bytes, where it is known from a message; `memoryFraction` goes first. */
  readonly allowedBytes?: number;
  readonly variant?: AllocatorVariant;
  /** Receives every trace entry when torch would record it. */
  readonly trace?: (entry: TraceEntry<S>) => void;
}

/**
 * `S` is the caller's stack reference; the model only passes it on. No operation of an event scans: free blocks are in
 * chunked sorted arrays per pool and stream ({@link FreeSet}), neighbours are linked. A class because it is a hot path.
 */
export class CachingAllocator<S = unknown> {
  readonly settings: AllocatorSettings;
  readonly variant: AllocatorVariant;
  readonly statistics: AllocatorStatistics = createStatistics();
  /** Most that may be reserved; null without a memory fraction. */
  readonly allowedBytes: number | null;
  /** Segments that garbage collection freed by a record, see {@link Driver.garbage}. */
  recordedGarbageSegments = 0;
  /** Whether `trace` sees alloc, free_requested and free_completed too, or only what the driver does. */
  tracesBlocks = true;
  private readonly driver: Driver;
  private readonly trace: ((entry: TraceEntry<S>) => void) | undefined;
  private readonly pools: Pools<S>;
  private readonly space: BlockSpace<S>;
  private readonly expandable: ExpandableSegments<S>;
  private readonly pending: PendingFrees<S>;
  private readonly segments = new Set<Segment<S>>();
  /** Garbage collection needs a threshold and a limit. */
  private readonly collects: boolean;
  private segmentsMade = 0;
  /** Stack and time of the call in progress, for the entries it causes. */
  private callStack: S | null = null;
  private callTimeUs: number | null = null;

  constructor(options: CachingAllocatorOptions<S>) {
    const { driver, settings = DEFAULT_SETTINGS, variant = DEFAULT_VARIANT, memoryFraction } = options;
    if (memoryFraction !== undefined && !(memoryFraction > 0 && memoryFraction <= 1))
      throw new MbfError('MBF9001', `allocator model: a memory fraction of ${memoryFraction}`);
    this.settings = settings;
    this.variant = variant;
    this.driver = driver;
    this.trace = options.trace;
    this.allowedBytes =
      memoryFraction === undefined
        ? (options.allowedBytes ?? null)
        : Math.floor(memoryFraction * driver.memory().totalBytes);
    this.collects = this.allowedBytes !== null && settings.garbageCollectionThreshold > 0;
    this.pools = new Pools(variant);
    this.space = new BlockSpace(this.statistics, variant.tieBreak);
    this.pending = new PendingFrees((block) => this.complete(block, this.callStack ?? block.stack, this.callTimeUs));
    this.expandable = new ExpandableSegments(
      this.space,
      driver,
      settings,
      {
        created: (segment) => this.segments.add(segment),
        destroyed: (segment) => this.segments.delete(segment),
        mapped: (block, bytes, addr) => {
          this.statistics.numDeviceAllocs += 1;
          move(this.statistics.reservedBytes, bytes);
          this.record('segment_map', addr, bytes, block.segment, this.callStack, this.callTimeUs);
        },
        unmapped: (segment, addr, bytes) => {
          this.statistics.numDeviceFrees += 1;
          move(this.statistics.reservedBytes, -bytes);
          this.record('segment_unmap', addr, bytes, segment, this.callStack, this.callTimeUs);
        },
      },
      () => this.nextSegment(),
    );
  }

  /**
   * Allocates `requestedBytes` (a positive integer; torch answers zero-byte requests without its allocator) from the
   * pool that graph capture or `use_mem_pool` redirect to, else from the default one. `stack` and `timeUs` go into the
   * trace entries this call causes, those of a flush included.
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
    if (!this.pools.isCapturing) {
      this.callStack = stack;
      this.callTimeUs = timeUs;
      this.pending.poll();
    }
    const block = this.reuse(requestedBytes, stream, stack, timeUs);
    return block === null ? this.grow(requestedBytes, stream, stack, timeUs) : { ok: true, block };
  }

  /** The first half of {@link malloc}: hands out a free block that fits; null, and no change, if none does. */
  reuse(requestedBytes: number, stream: number, stack: S | null = null, timeUs: number | null = null): Block<S> | null {
    const rounded = roundSize(requestedBytes, this.settings);
    const pair = this.pools.select(stream);
    const found = this.findFree(isSmall(rounded) ? pair.small : pair.large, stream, rounded);
    return found === null ? null : this.handOut(found, rounded, requestedBytes, stack, timeUs);
  }

  /** The block {@link reuse} would take from, without taking it; null if there is none. */
  peek(requestedBytes: number, stream: number): Block<S> | null {
    const rounded = roundSize(requestedBytes, this.settings);
    const pair = this.pools.select(stream);
    return this.seekFree(isSmall(rounded) ? pair.small : pair.large, stream, rounded)?.current() ?? null;
  }

  /**
   * How {@link grow} would begin. `mapped`: mapped pages already serve the request, which the free-block search skips
   * only with `max_split_size`. Else the first oversize segment that it would release; null if none.
   */
  peekGrowth(requestedBytes: number, stream: number): 'mapped' | Block<S> | null {
    if (!Number.isFinite(this.settings.maxSplitBytes)) return null;
    const rounded = roundSize(requestedBytes, this.settings);
    const pair = this.pools.select(stream);
    const pool = isSmall(rounded) ? pair.small : pair.large;
    if (this.maps(pool))
      return !this.passesLimit(rounded) && this.expandable.serves(pool, stream, rounded) ? 'mapped' : null;
    return oversizeVictims(pool.freeSets.get(stream), rounded, this.settings.maxSplitBytes).victims[0] ?? null;
  }

  /** Where {@link grow} would map pages for a request that nothing free fits; null if a new reservation would begin. */
  peekEdge(requestedBytes: number, stream: number): GrowingEdge<S> | null {
    const rounded = roundSize(requestedBytes, this.settings);
    const pair = this.pools.select(stream);
    return this.expandable.edge(isSmall(rounded) ? pair.small : pair.large, stream, rounded);
  }

  /** Whether the next call of the driver may begin with garbage; where no limit is known, what a replay has of it. */
  get collectsGarbage(): boolean {
    return this.collects || this.recordedGarbage().length > 0;
  }

  /** Counts a search for a free block, by which garbage ages: {@link reuse} does, {@link peek} does not. */
  countSearch(requestedBytes: number, stream: number): void {
    const pair = this.pools.select(stream);
    if (this.collects) (isSmall(roundSize(requestedBytes, this.settings)) ? pair.small : pair.large).calls += 1;
  }

  /** The second half of {@link malloc}: memory from the driver, with everything torch gives back to get it. */
  grow(requestedBytes: number, stream: number, stack: S | null = null, timeUs: number | null = null): MallocResult<S> {
    this.callStack = stack;
    this.callTimeUs = timeUs;
    const rounded = roundSize(requestedBytes, this.settings);
    const pair = this.pools.select(stream);
    const pool = isSmall(rounded) ? pair.small : pair.large;
    const found = this.obtain(pair, pool, stream, rounded);
    if (found === null) return this.fail(requestedBytes, rounded, pool, stream);
    return { ok: true, block: this.handOut(found, rounded, requestedBytes, stack, timeUs) };
  }

  /**
   * Frees a live block. `stack` is the stack of the free (recording with context="all"); without one the entries carry
   * the stack of the allocation, as torch does with context="alloc". A block that other streams use stays pending.
   */
  free(block: Block<S>, stack: S | null = null, timeUs: number | null = null): void {
    this.giveUp(block, stack, timeUs);
    if (block.streamUses === null) {
      this.complete(block, stack ?? block.stack, timeUs);
      return;
    }
    block.state = 'active_pending_free';
    this.pending.add(block, this.pools.isCapturing);
  }

  /** Frees at {@link completeFree} or the next wait for all events: a replay knows when it did, but not the streams. */
  requestFree(block: Block<S>, stack: S | null = null, timeUs: number | null = null): void {
    this.giveUp(block, stack, timeUs);
    block.state = 'active_pending_free';
    this.pending.hold(block);
  }

  /** `Tensor.record_stream`: a live block is used on another stream too. Leaves no trace entry. */
  recordStream(block: Block<S>, stream: number): void {
    if (block.state !== 'active_allocated')
      throw new MbfError('MBF9001', `allocator model: record_stream of a ${block.state} block`);
    if (stream === block.segment.stream) return;
    block.streamUses ??= [];
    if (!block.streamUses.includes(stream)) block.streamUses.push(stream);
  }

  /** All events of `stream` up to now have happened. The allocator notices at the next malloc. */
  finishStream(stream: number): void {
    this.pending.finish(stream);
  }

  /** Completes a pending free now, without its events: a replay knows the time from the record. */
  completeFree(block: Block<S>, stack: S | null = null, timeUs: number | null = null): void {
    if (block.state !== 'active_pending_free')
      throw new MbfError('MBF9001', `allocator model: completion of a ${block.state} block`);
    this.pending.forget(block);
    this.complete(block, stack ?? block.stack, timeUs);
  }

  /** `torch.cuda.empty_cache()`, and the last resort of a failing malloc: releases to the driver all that it can. */
  flush(stack: S | null = null, timeUs: number | null = null): void {
    this.callStack = stack;
    this.callTimeUs = timeUs;
    if (!this.pools.isCapturing && (this.driver.mayWait?.() ?? true)) this.pending.wait();
    this.release(this.pools.default.large);
    this.release(this.pools.default.small);
    for (const pair of [...this.pools.private()]) {
      if (pair.users > 0) continue;
      this.release(pair.small);
      this.release(pair.large);
      this.pools.dropIfEmpty(pair);
    }
  }

  /** A private pool that its creator holds until {@link releasePool}. */
  createPool(options: PoolOptions = {}): PoolId {
    return this.pools.create(options);
  }

  /** A private pool with a given id. Throws nothing if it exists already. */
  addPool(id: PoolId, options: PoolOptions = {}): void {
    this.pools.add(id, options);
  }

  /** One holder fewer; without any, a flush may give the pool's segments back. */
  releasePool(id: PoolId): void {
    const pair = this.pools.get(id);
    if (pair.users === 0) throw new MbfError('MBF9001', `allocator model: pool (${id.join(', ')}) is held by nothing`);
    pair.users -= 1;
    this.pools.dropIfEmpty(pair);
  }

  /** Nothing holds a private pool any more, if there is one. */
  dropPool(id: PoolId): void {
    const pair = this.pools.find(id);
    if (pair === undefined || pair === this.pools.default) return;
    pair.users = 0;
    this.pools.dropIfEmpty(pair);
  }

  /** A graph capture on `stream` begins: its requests go to the pool, nothing is flushed and no event is polled. */
  beginCapture(pool: PoolId, stream: number): void {
    this.pools.begin(pool, stream, true);
  }

  endCapture(pool: PoolId): void {
    this.pools.end(pool, true);
  }

  /** Redirects requests on `stream` to the pool; a replay reads from the record whether a flush was allowed. */
  beginRedirect(pool: PoolId, stream: number): void {
    this.pools.begin(pool, stream, false, false);
  }

  endRedirect(pool: PoolId): void {
    this.pools.end(pool, false);
  }

  /** `torch.cuda.use_mem_pool`: all requests go to the pool. */
  beginUsePool(pool: PoolId): void {
    this.pools.begin(pool, null, false);
  }

  endUsePool(pool: PoolId): void {
    this.pools.end(pool, false);
  }

  /** Segments and blocks as in a snapshot, in address order; each mapped run of an expandable segment is one. */
  snapshot(): SegmentSnapshot<S>[] {
    return snapshotSegments(this.segments);
  }

  /** For restoring a recorded state and for repairs of a replay. */
  parts(): AllocatorParts<S> {
    const { space, pools, segments, expandable, pending, statistics } = this;
    return {
      space,
      pools,
      segments,
      expandable,
      pending,
      statistics,
      nextSegment: () => this.nextSegment(),
      releaseSegment: (block) => this.releaseSegment(block),
      handOut: (block, requestedBytes) =>
        this.handOut(block, roundSize(requestedBytes, this.settings), requestedBytes, null, null),
    };
  }

  /** Every segment there is, reservations included, in order of creation. For checks. */
  allSegments(): Iterable<Segment<S>> {
    return this.segments;
  }

  /** Whether a flush would give anything back, pending frees aside. Scans the free blocks. */
  hasReleasable(): boolean {
    for (const block of this.freeBlocks()) {
      if (!isExpandable(block)) {
        if (!isSplit(block)) return true;
      } else if (block.sizeBytes >= block.segment.unitBytes && this.expandable.holdsPage(block)) return true;
    }
    return false;
  }

  /** Free blocks as the allocator has them in its sets. For checks. */
  *freeBlocks(): Generator<Block<S>> {
    for (const pair of [this.pools.default, ...this.pools.private()]) {
      for (const pool of [pair.small, pair.large]) {
        for (const set of setsInOrder(pool)) yield* set.values();
      }
    }
  }

  private nextSegment(): number {
    this.segmentsMade += 1;
    return this.segmentsMade;
  }

  private maps(pool: Pool<S>): boolean {
    return this.settings.expandableSegments && !pool.customAllocator;
  }

  /** Cuts the block to size and marks it as allocated. */
  private handOut(
    found: Block<S>,
    rounded: number,
    requestedBytes: number,
    stack: S | null,
    timeUs: number | null,
  ): Block<S> {
    const { statistics } = this;
    const block = this.splits(found, rounded) ? this.carve(found, rounded) : found;
    block.requestedBytes = requestedBytes;
    block.state = 'active_allocated';
    block.stack = stack;
    move(statistics.allocation, 1);
    move(statistics.allocatedBytes, block.sizeBytes);
    move(statistics.activeBytes, block.sizeBytes);
    move(statistics.requestedBytes, requestedBytes);
    if (block.sizeBytes >= this.settings.maxSplitBytes) move(statistics.oversizeAllocations, 1);
    this.record('alloc', block.addr, requestedBytes, block.segment, stack, timeUs);
    return block;
  }

  /** Takes the block from its holder. */
  private giveUp(block: Block<S>, stack: S | null, timeUs: number | null): void {
    if (block.state !== 'active_allocated')
      throw new MbfError('MBF9001', `allocator model: free of a ${block.state} block`);
    const { statistics } = this;
    move(statistics.allocation, -1);
    move(statistics.allocatedBytes, -block.sizeBytes);
    if (block.sizeBytes >= this.settings.maxSplitBytes) move(statistics.oversizeAllocations, -1);
    this.record('free_requested', block.addr, block.requestedBytes, block.segment, stack ?? block.stack, timeUs);
  }

  /** `get_free_block`: the best fit of this pool and stream, out of its set. */
  private findFree(pool: Pool<S>, stream: number, rounded: number): Block<S> | null {
    if (this.collects) pool.calls += 1;
    const set = this.seekFree(pool, stream, rounded);
    return set === null ? null : this.space.takeCurrent(set);
  }

  /** The set with its cursor at the best fit; null if nothing fits. */
  private seekFree(pool: Pool<S>, stream: number, rounded: number): FreeSet<Block<S>> | null {
    const set = pool.freeSets.get(stream);
    if (set === undefined || !set.seek(rounded)) return null;
    const { settings } = this;
    if (isExpandable(set.current())) {
      if (settings.expandableSegments) preferInterior(set);
      else
        do if (!set.advance()) return null;
        while (isExpandable(set.current()));
    }
    const { sizeBytes } = set.current();
    if (rounded < settings.maxSplitBytes && sizeBytes >= settings.maxSplitBytes) return null;
    if (rounded >= settings.maxSplitBytes && sizeBytes >= rounded + settings.maxNonSplitRoundingBytes) return null;
    return set;
  }

  /** Everything torch tries, in its order, when no free block fits. */
  private obtain(pair: PoolPair<S>, pool: Pool<S>, stream: number, rounded: number): Block<S> | null {
    if (this.collects) this.collectGarbage();
    else this.freeRecordedGarbage();
    const early = this.allocateNew(pool, stream, rounded);
    if (early !== null) return early;
    const { oomPools } = this.variant;
    if (oomPools === 'before_flush') {
      const spare = this.findInOomPools(pair, pool.kind, stream, rounded);
      if (spare !== null) return spare;
    }
    if (this.releaseOversize(pool, stream, rounded)) {
      const block = this.allocateNew(pool, stream, rounded);
      if (block !== null) return block;
    }
    if (!this.pools.isCapturing && (this.driver.mayFlush?.() ?? true)) {
      this.flush(this.callStack, this.callTimeUs);
      this.statistics.numAllocRetries += 1;
      this.driver.lastAttempt?.();
      const block = this.allocateNew(pool, stream, rounded);
      if (block !== null) return block;
    }
    return oomPools === 'after_flush' ? this.findInOomPools(pair, pool.kind, stream, rounded) : null;
  }

  /** `alloc_block`: one attempt at the driver. */
  private allocateNew(pool: Pool<S>, stream: number, rounded: number): Block<S> | null {
    const bytes = allocationSize(rounded, this.settings);
    if (this.passesLimit(rounded)) return null;
    if (this.maps(pool)) return this.expandable.allocate(pool, stream, rounded, this.callStack);
    const addr = this.driver.malloc(bytes);
    if (addr === null) return null;
    const segment = new Segment<S>({
      addr,
      sizeBytes: bytes,
      stream,
      pool,
      unitBytes: 0,
      counter: this.nextSegment(),
    });
    segment.first = this.space.makeBlock(segment, addr, bytes, true);
    segment.first.segmentStack = this.callStack;
    this.segments.add(segment);
    pool.reservedBytes += bytes;
    const { statistics } = this;
    statistics.numDeviceAllocs += 1;
    move(statistics.segment, 1);
    move(statistics.reservedBytes, bytes);
    if (bytes >= this.settings.maxSplitBytes) move(statistics.oversizeSegments, 1);
    this.record('segment_alloc', addr, bytes, segment, this.callStack, this.callTimeUs);
    return segment.first;
  }

  /** Torch compares the segment size with the limit even where pages would be mapped, or are. */
  private passesLimit(rounded: number): boolean {
    const { allowedBytes, statistics, settings } = this;
    return allowedBytes !== null && statistics.reservedBytes.current + allocationSize(rounded, settings) > allowedBytes;
  }

  /** `try_mempool_fallback`: free blocks of pools made for this purpose, which get no new segments for it. */
  private findInOomPools(pair: PoolPair<S>, kind: 'small' | 'large', stream: number, rounded: number): Block<S> | null {
    if (pair !== this.pools.default) return null;
    for (const other of this.pools.private()) {
      if (!other.useOnOom) continue;
      const block = this.findFree(other[kind], stream, rounded);
      if (block !== null) return block;
    }
    return null;
  }

  /** `should_split`. What is not worth cutting off is handed out with the block. */
  private splits(block: Block<S>, rounded: number): boolean {
    const { pool } = block.segment;
    const rest = block.sizeBytes - rounded;
    if (pool.noSplit) return false;
    // By the setting, not by the kind of the block, as in torch.
    if (pool.kind === 'small' || this.settings.expandableSegments) return rest >= MIN_BLOCK_BYTES;
    return rounded < this.settings.maxSplitBytes && rest > LARGE_REMAINDER_BYTES;
  }

  private carve(block: Block<S>, rounded: number): Block<S> {
    const front = this.space.splitFront(block, rounded);
    this.space.putFree(block);
    return front;
  }

  /** `free_block`: the bytes are reusable from here on. Segments are never returned at this point. */
  private complete(block: Block<S>, stack: S | null, timeUs: number | null): void {
    const { statistics } = this;
    move(statistics.activeBytes, -block.sizeBytes);
    move(statistics.requestedBytes, -block.requestedBytes);
    this.record('free_completed', block.addr, block.requestedBytes, block.segment, stack, timeUs);
    block.state = 'inactive';
    block.stack = null;
    this.space.merge(block);
    this.space.putFree(block);
  }

  /** `release_blocks`: wholly free cudaMalloc segments in the order of torch's set, then the free pages likewise. */
  private release(pool: Pool<S>): void {
    const free: Block<S>[] = [];
    const expandable: Block<S>[] = [];
    for (const set of setsInOrder(pool)) {
      for (const block of set.values()) {
        if (isExpandable(block)) expandable.push(block);
        else if (!isSplit(block)) free.push(block);
      }
    }
    for (const block of free) this.releaseSegment(block);
    for (const block of expandable) this.expandable.unmap(block);
  }

  /** cudaFree of a wholly free segment. */
  private releaseSegment(block: Block<S>): void {
    const { segment, addr, sizeBytes } = block;
    const { statistics } = this;
    this.space.dropFree(block);
    this.record('segment_free', addr, sizeBytes, segment, this.callStack ?? block.segmentStack, this.callTimeUs);
    this.driver.free(addr, sizeBytes);
    this.segments.delete(segment);
    segment.pool.reservedBytes -= sizeBytes;
    statistics.numDeviceFrees += 1;
    move(statistics.segment, -1);
    move(statistics.reservedBytes, -sizeBytes);
    if (sizeBytes >= this.settings.maxSplitBytes) move(statistics.oversizeSegments, -1);
  }

  /** `release_available_cached_blocks`: releases oversize segments of this stream; true if enough for the request. */
  private releaseOversize(pool: Pool<S>, stream: number, rounded: number): boolean {
    if (!Number.isFinite(this.settings.maxSplitBytes)) return false;
    const { victims, isEnough } = oversizeVictims(pool.freeSets.get(stream), rounded, this.settings.maxSplitBytes);
    for (const block of victims) this.releaseSegment(block);
    return isEnough;
  }

  /** `garbage_collect_cached_blocks`: frees wholly free large segments, oldest first, until below the threshold. */
  private collectGarbage(): void {
    const threshold = this.settings.garbageCollectionThreshold * (this.allowedBytes ?? 0);
    const reserved = this.statistics.reservedBytes.current;
    if (reserved <= threshold) return;
    for (const block of garbageOf(this.pools.default.large, reserved - threshold)) this.releaseSegment(block);
  }

  /** Garbage collection below a limit that is not known. */
  private freeRecordedGarbage(): void {
    const garbage = this.recordedGarbage();
    if (garbage.length === 0) return;
    const free = new Map(wholeSegments(this.pools.default.large).map((block) => [block.addr, block]));
    for (const addr of garbage) this.releaseSegment(free.get(addr)!);
    this.recordedGarbageSegments += garbage.length;
  }

  private recordedGarbage(): readonly number[] {
    if (this.collects || this.settings.garbageCollectionThreshold === 0) return [];
    const { large, small } = this.pools.default;
    const free = (): FreeSegments => ({
      large: wholeSegments(large).map(({ addr }) => addr),
      small: wholeSegments(small).map(({ addr }) => addr),
      waits: this.pending.holds,
    });
    return this.driver.garbage?.(free) ?? [];
  }

  private fail(requestedBytes: number, roundedBytes: number, pool: Pool<S>, stream: number): MallocResult<S> {
    const { totalBytes, freeBytes, processBytes } = this.driver.memory();
    const { statistics } = this;
    statistics.numOoms += 1;
    this.trace?.({
      action: 'oom',
      addr: null,
      sizeBytes: roundedBytes,
      stream,
      poolId: pool.id,
      timeUs: this.callTimeUs,
      deviceFreeBytes: freeBytes,
      stack: this.callStack,
    });
    let privatePoolFreeBytes = 0;
    for (const pair of this.pools.private()) {
      for (const half of [pair.small, pair.large]) {
        for (const set of half.freeSets.values()) {
          for (const block of set.values()) privatePoolFreeBytes += block.sizeBytes;
        }
      }
    }
    return {
      ok: false,
      oom: {
        requestedBytes,
        roundedBytes,
        segmentBytes: allocationSize(roundedBytes, this.settings),
        stream,
        deviceTotalBytes: totalBytes,
        deviceFreeBytes: freeBytes,
        processBytes,
        allowedBytes: this.allowedBytes,
        allocatedBytes: statistics.allocatedBytes.current,
        reservedBytes: statistics.reservedBytes.current,
        privatePoolFreeBytes,
      },
    };
  }

  private record(
    action: TraceAction,
    addr: number,
    sizeBytes: number,
    segment: Segment<S>,
    stack: S | null,
    timeUs: number | null,
  ): void {
    if (this.trace === undefined) return;
    if (!this.tracesBlocks && (action === 'alloc' || action === 'free_requested' || action === 'free_completed'))
      return;
    const { stream, pool } = segment;
    this.trace({ action, addr, sizeBytes, stream, poolId: pool.id, timeUs, deviceFreeBytes: null, stack });
  }
}

/**
 * Torch adds the unmapped range behind a block to its size, so that a block at the growing edge is used last: from the
 * best fit on, the cursor moves while the next block counts as smaller.
 */
function preferInterior<S>(set: FreeSet<Block<S>>): void {
  while (isExpandable(set.current())) {
    const next = set.peekNext();
    if (next === undefined || reach(next) >= reach(set.current())) return;
    set.advance();
  }
}

function reach<S>({ sizeBytes, next }: Block<S>): number {
  return next !== null && !next.mapped ? sizeBytes + next.sizeBytes : sizeBytes;
}

/**
 * Drives the allocator model with the requests of a recording and compares everything it decides with what was
 * recorded: the address of every allocation, every call to the driver in its order, and the final state. Nothing is
 * fitted: the driver hands out recorded addresses, and only what no rule decides is taken from the record (when a
 * pending free completed, when the program called `empty_cache()`).
 */

import type { Block, Segment } from '../caching/block.js';
import { type AllocatorParts, CachingAllocator } from '../caching/caching-allocator.js';
import { allocationSize, roundSize } from '../rounding.js';
import { SMALL_SEGMENT_BYTES } from '../settings.js';
import {
  ALLOC,
  FREE_COMPLETED,
  FREE_REQUESTED,
  isDriverEntry,
  OOM,
  SEGMENT_ALLOC,
  SEGMENT_FREE,
  SEGMENT_MAP,
  SEGMENT_UNMAP,
} from '../trace-action-codes.js';
import type { AllocatorVariant } from '../variants.js';
import { type MismatchKind, Parted, RecordedDriver } from './recorded-driver.js';
import { RecordedPools } from './recorded-pools.js';
import type { Recording } from './recording.js';
import { addSegment, freeBlockAt, giveBack, mapRange, placeAt } from './repair.js';
import type { ReplayedFlush, ReplayedOom, ReplayMismatch, ReplayOutcome } from './replay-outcome.js';
import { restoreState } from './restore-state.js';

/** Kept of each replay; more would only repeat the story. */
const MAX_MISMATCHES = 20;
/**
 * With so many mismatches in a hundred allocations the model does not describe this recording, and every repair costs a
 * search.
 */
const HOPELESS_SHARE = 0.02;
const FEWEST_HOPELESS = 100;

/** `mostMismatches`: the replay ends with one more; absent: where the model does not describe the recording. */
export function verifyingReplay(
  recording: Recording,
  variant: AllocatorVariant,
  mostMismatches = Math.max(FEWEST_HOPELESS, recording.allocEntries * HOPELESS_SHARE),
): ReplayOutcome {
  return new VerifyingReplay(recording, variant, mostMismatches).run();
}

/** One pass; a class for its many counters. */
class VerifyingReplay {
  private readonly recording: Recording;
  /** Columns of the recording that every request and every free reads: a recording is too wide to be read fast. */
  private readonly allocation: Int32Array;
  private readonly address: Float64Array;
  private readonly sizeBytes: Float64Array;
  private readonly stream: Float64Array;
  private readonly variant: AllocatorVariant;
  private readonly driver: RecordedDriver;
  private readonly allocator: CachingAllocator<never>;
  private readonly parts: AllocatorParts<never>;
  private readonly blocks: (Block<never> | undefined)[];
  private readonly mismatches: ReplayMismatch[] = [];
  private readonly flushes: ReplayedFlush[] = [];
  private readonly ooms: ReplayedOom[] = [];
  private readonly hasPrivatePools: boolean;
  private readonly pools: RecordedPools;
  private readonly mostMismatches: number;
  private mismatchCount = 0;
  private addressMatches = 0;
  private reuses = 0;
  private driverEntries = 0;
  private impossiblePlacements = 0;
  private unknownFrees = 0;
  private readonly lateWaits: number[] = [];
  private abandonedAt: number | null = null;
  private impliedReservation: number | null = null;
  /** Frees that a wait of the model completed, to be found in the record. */
  private readonly completedByModel = new Set<number>();
  /** Completions in rows below, of the group in progress, are done. */
  private completedTo = 0;

  constructor(recording: Recording, variant: AllocatorVariant, mostMismatches: number) {
    this.recording = recording;
    this.allocation = recording.allocation;
    this.address = recording.events.address;
    this.sizeBytes = recording.events.sizeBytes;
    this.stream = recording.events.stream;
    this.variant = variant;
    const { poolOf, start } = recording;
    this.hasPrivatePools = poolOf.size > 0 || start.segments.pool.some((pool) => pool !== 0);
    this.mostMismatches = mostMismatches;
    const release = (row: number): void => {
      if (!giveBack(this.parts, recording.events.address[row]!)) this.impossiblePlacements += 1;
    };
    this.driver = new RecordedDriver(recording, release, (row) => this.completeFree(row));
    this.allocator = new CachingAllocator<never>({
      driver: this.driver,
      settings: recording.settings,
      variant,
      ...(recording.allowedBytes === undefined ? {} : { allowedBytes: recording.allowedBytes }),
      trace: ({ action, addr, sizeBytes }) => {
        if (action === 'segment_free') this.driver.released(SEGMENT_FREE, addr!, sizeBytes);
        else if (action === 'segment_unmap') this.driver.released(SEGMENT_UNMAP, addr!, sizeBytes);
        else if (action === 'free_completed') this.completedByModel.add(addr!);
      },
    });
    // Of blocks only what a wait completes is of interest.
    this.allocator.tracesBlocks = false;
    this.parts = this.allocator.parts();
    this.blocks = new Array<Block<never> | undefined>(recording.allocations).fill(undefined);
    const restored = restoreState(this.parts, recording.start, {
      poolId: recording.poolId,
      reservationStarts: recording.reservationStarts,
      largeUnitBytes: recording.settings.largeSegmentBytes,
      reservationBytes: recording.reservationBytes,
      customPools: recording.customPools,
      segmentOrder: recording.segmentOrder,
    });
    for (let row = 0; row < restored.length; row += 1) this.hold(row, restored[row]!);
    this.driver.mayCapture = this.hasPrivatePools;
    this.pools = new RecordedPools(recording, this.allocator, this.driver);
  }

  run(): ReplayOutcome {
    const { events, allocation, allocEntries } = this.recording;
    const { count, action, seq } = events;
    let i = 0;
    while (i < count) {
      const code = action[i]!;
      if (code === ALLOC) {
        this.request(i);
        i += 1;
      } else if (code === FREE_REQUESTED) {
        const isWhole = i + 1 < count && action[i + 1] === FREE_COMPLETED && allocation[i + 1] === allocation[i];
        this.requestFree(i, isWhole);
        i += isWhole ? 2 : 1;
      } else if (code === FREE_COMPLETED) {
        this.completeFree(i);
        i += 1;
      } else if (isDriverEntry(code) || code === OOM) {
        i = this.group(i);
      } else i += 1;
      if (this.isHopeless) {
        this.abandonedAt = i < count ? seq[i]! : null;
        break;
      }
    }
    return {
      variant: this.variant,
      allocs: allocEntries,
      addressMatches: this.addressMatches,
      reuses: this.reuses,
      driverEntries: this.driverEntries,
      driverEntryMatches: this.driver.repeated,
      driverEntryMismatches: this.driver.differing,
      mismatches: this.mismatches,
      mismatchCount: this.mismatchCount,
      impossiblePlacements: this.impossiblePlacements,
      unknownFrees: this.unknownFrees,
      flushes: this.flushes,
      releasedPools: this.pools.released,
      ooms: this.ooms,
      lateWaits: this.lateWaits,
      taken: {
        poolOrders: this.pools.orders,
        garbageSegments: this.allocator.recordedGarbageSegments,
        inferredPools: this.recording.inferredPools ?? 0,
      },
      impliedReservationBytes: this.impliedReservation,
      olderSegments: this.driver.olderSegments,
      abandonedAt: this.abandonedAt,
      reservedAtEndBytes: this.allocator.statistics.reservedBytes.current,
      allocator: this.allocator,
    };
  }

  // ---- frees

  /** So much the driver would have given without a flush. */
  private reachableAt(row: number): number {
    const { reachedLater, allowedBytes } = this.recording;
    return Math.min(reachedLater[row]!, allowedBytes ?? Number.POSITIVE_INFINITY);
  }

  /** What is reserved with a new segment for the request. */
  private needOf(bytes: number): number {
    const { settings } = this.recording;
    return this.allocator.statistics.reservedBytes.current + allocationSize(roundSize(bytes, settings), settings);
  }

  private get isHopeless(): boolean {
    return this.mismatchCount > this.mostMismatches;
  }

  private requestFree(i: number, isWhole: boolean): void {
    const block = this.blockOf(i);
    if (block === undefined || block.state !== 'active_allocated') {
      this.unknownFrees += 1;
      return;
    }
    if (isWhole) {
      this.allocator.free(block);
      this.blocks[this.allocation[i]!] = undefined;
    } else {
      this.allocator.requestFree(block);
    }
  }

  private completeFree(i: number): void {
    const block = this.blockOf(i);
    if (block === undefined) {
      // The wait of a flush completed it before; the record completes it now.
      if (!this.completedByModel.delete(this.recording.events.address[i]!)) this.unknownFrees += 1;
      return;
    }
    this.blocks[this.allocation[i]!] = undefined;
    if (block.state === 'active_pending_free') this.allocator.completeFree(block);
    else if (block.state === 'active_allocated') this.allocator.free(block);
    else this.completedByModel.delete(this.recording.events.address[i]!);
  }

  private blockOf(i: number): Block<never> | undefined {
    const allocation = this.allocation[i]!;
    if (allocation < 0) return undefined;
    const block = this.blocks[allocation];
    // Once a wait has completed its free, the block may serve another allocation.
    return block?.owner === allocation ? block : undefined;
  }

  // ---- requests

  /** An alloc entry without driver entries before it: a free block was reused. */
  private request(i: number): void {
    const end = this.pools.enter(i);
    const bytes = this.sizeBytes[i]!;
    const block = this.allocator.reuse(bytes, this.streamOf(i));
    if (block === null) {
      // Pages that are mapped already may serve it: free blocks of max_split_size and more are found on the way to the
      // driver only.
      this.driver.begin(i, i);
      this.grow(i, bytes, this.streamOf(i), false, 'forced');
    } else if (block.addr !== this.address[i]) this.part(i, 'address', block, true);
    else {
      this.reuses += 1;
      this.match(i, block);
    }
    end?.();
  }

  /** Driver entries from row `i` on, and the request they are for; returns the row after all of them. */
  private group(i: number): number {
    const { action, count } = this.recording.events;
    let to = i;
    while (to < count && (isDriverEntry(action[to]!) || action[to] === FREE_COMPLETED)) {
      if (action[to] !== FREE_COMPLETED) this.driverEntries += 1;
      to += 1;
    }
    this.driver.begin(i, to);
    const isRequest = to < count && (action[to] === ALLOC || action[to] === OOM);
    if (isRequest) this.requestWithGroup(i, to);
    else this.flushesBetween(i, to);
    this.settleCompletions(i, to);
    return isRequest ? to + 1 : to;
  }

  private requestWithGroup(from: number, row: number): void {
    const { events, emptyCacheStacks } = this.recording;
    const isOom = events.action[row] === OOM;
    const bytes = events.sizeBytes[row]!;
    const stream = this.streamOf(row);
    const end = this.pools.enter(row);
    // A capture forbids flushes, and `torch.cuda.graph` empties the cache before it begins one.
    const kind = end === undefined ? 'forced' : 'explicit';
    const growth = this.findIn(from, row, (code) => code === SEGMENT_ALLOC || code === SEGMENT_MAP);
    const release = this.findIn(from, row, (code) => code === SEGMENT_FREE || code === SEGMENT_UNMAP);
    const isFirst = release >= 0 && (growth < 0 || release < growth);
    let block = this.allocator.peek(bytes, stream);
    const begins =
      isFirst && block === null && !this.allocator.collectsGarbage ? this.allocator.peekGrowth(bytes, stream) : null;
    /** The model would not begin with what the record begins with: only a flush before the request explains that. */
    const isOther = begins !== null && (begins === 'mapped' || begins.addr !== events.address[release]);
    /**
     * A limit refuses what pages mapped already would serve, until the flush has gone below it: then no new page is
     * needed.
     */
    const isLimited = this.recording.allowedBytes !== undefined && this.recording.settings.expandableSegments;
    /** The driver would have given more without it. */
    const isNeedless = !isOom && !this.allocator.collectsGarbage && this.needOf(bytes) <= this.reachableAt(row);
    const isExplicit =
      isFirst &&
      (block !== null ||
        isOther ||
        (growth < 0 && !isOom && !isLimited) ||
        isNeedless ||
        emptyCacheStacks.has(events.stackId[release]!));
    // What only the wait before the flush set free, torch does not search again.
    const mayBeLate = (growth >= 0 || isOom) && this.followsCompletion(from, row);
    let waited = false;
    if (isExplicit) {
      const isCall = isNeedless || emptyCacheStacks.has(events.stackId[release]!) || !mayBeLate || end !== undefined;
      waited = block !== null && !isCall;
      this.flush(from, row, isCall ? 'explicit' : 'forced');
      block = this.allocator.peek(bytes, stream);
    }
    const remaining = this.driver.next();
    const isLate = block !== null && mayBeLate;
    if (isLate || waited) {
      this.lateWaits.push(events.seq[row]!);
    }
    // The first attempt at the driver came before the wait too; what is free now must not serve it.
    const isUnmapped = mayBeLate && this.recording.settings.expandableSegments;
    if ((isLate || isUnmapped) && remaining >= 0 && this.driver.isRelease(remaining)) this.flush(from, row, kind);
    const isElsewhere = this.isOfUnknownPool(row) && remaining < 0;
    if (isElsewhere && (block !== null || this.allocator.peekGrowth(bytes, stream) !== null)) this.failElsewhere(row);
    else if (block !== null && !isLate) {
      if (remaining >= 0 || isOom) this.part(row, isOom ? 'oom_not_predicted' : 'reuse_predicted', null, true);
      else {
        const reused = this.allocator.reuse(bytes, stream)!;
        if (reused.addr === events.address[row]) {
          this.reuses += 1;
          this.match(row, reused);
        } else this.part(row, 'address', reused, true);
      }
    } else {
      this.allocator.countSearch(bytes, stream);
      this.grow(row, bytes, stream, isOom, kind);
    }
    end?.();
  }

  /**
   * `kind` of a flush it needs. Of a private pool's request that is a call: `torch.cuda.graph` empties the cache before
   * it begins a capture, which forbids flushes.
   */
  private grow(row: number, bytes: number, stream: number, isOom: boolean, kind: ReplayedFlush['kind']): void {
    const { allocator, driver } = this;
    const { reservedBytes, activeBytes } = allocator.statistics;
    const retries = allocator.statistics.numAllocRetries;
    // Where it is not known what the device had, the program may have emptied its cache by chance just before.
    const isClear =
      kind !== 'forced' || isOom || this.needOf(bytes) > (this.recording.budgetBytes ?? Number.POSITIVE_INFINITY);
    const before = driver.repeated + driver.differing;
    this.allocator.tracesBlocks = true;
    this.pools.open(row);
    try {
      const result = allocator.grow(bytes, stream);
      if (allocator.statistics.numAllocRetries > retries) {
        const released = driver.repeated + driver.differing - before;
        const seq = this.recording.events.seq[row]!;
        if (released > 0 || this.flushes.at(-1)?.seq !== seq)
          this.flushes.push({ seq, kind: isClear ? kind : 'unclear', beforeSeq: seq, released });
      }
      driver.forceReleases();
      if (isOom) {
        this.ooms.push({
          ...this.oomAt(row, !result.ok),
          reservedBytes: reservedBytes.current,
          activeBytes: activeBytes.current,
        });
        if (result.ok) {
          if (this.isOfUnknownPool(row)) this.allocator.free(result.block);
          else this.part(row, 'oom_not_predicted', result.block, false);
        }
      } else if (!result.ok) this.part(row, 'oom_predicted', null, true);
      else if (driver.next() >= 0) this.part(row, 'growth_differs', result.block, true);
      else if (result.block.addr !== this.recording.events.address[row]) this.part(row, 'address', result.block, true);
      else this.match(row, result.block);
    } catch (error) {
      if (!(error instanceof Parted)) throw error;
      if (this.mismatchCount === 0 && error.kind === 'growth_differs') this.boundByJump(row);
      this.part(row, error.kind, null, !isOom);
    } finally {
      this.allocator.tracesBlocks = false;
      this.pools.close();
    }
  }

  /**
   * Before torch 2.12 an entry without an address does not contain its pool: a private one may be empty where the
   * default one is not.
   */
  private isOfUnknownPool(row: number): boolean {
    const { events } = this.recording;
    return this.hasPrivatePools && events.pool === undefined && events.action[row] === OOM;
  }

  private failElsewhere(row: number): void {
    this.ooms.push(this.oomAt(row, false));
    this.repeatDriverEntries();
  }

  private oomAt(row: number, repeated: boolean): ReplayedOom {
    const { seq, sizeBytes } = this.recording.events;
    const { reservedBytes, activeBytes } = this.allocator.statistics;
    return {
      seq: seq[row]!,
      requestedBytes: sizeBytes[row]!,
      repeated,
      reservedBytes: reservedBytes.current,
      activeBytes: activeBytes.current,
    };
  }

  private match(row: number, block: Block<never>): void {
    this.addressMatches += 1;
    this.hold(this.allocation[row]!, block);
  }

  /** The model decided otherwise: counts it, undoes what it did, and repeats the record by force. */
  private part(row: number, kind: MismatchKind, predicted: Block<never> | null, isServed: boolean): void {
    const { events, settings, allocation } = this.recording;
    const isOom = events.action[row] === OOM;
    const peeked = predicted ?? this.allocator.peek(events.sizeBytes[row]!, this.streamOf(row));
    this.note(row, kind, events.sizeBytes[row]!, peeked?.addr ?? null, isOom ? null : events.address[row]!);
    if (predicted !== null) this.allocator.free(predicted);
    if (kind === 'address') this.learn(row);
    this.repeatDriverEntries();
    if (isOom || !isServed) return;
    const placement = placeAt(this.parts, settings, events.address[row]!, events.sizeBytes[row]!);
    if (placement === undefined || placement.midBlock) this.impossiblePlacements += 1;
    if (placement !== undefined) this.hold(allocation[row]!, placement.block);
  }

  private hold(allocation: number, block: Block<never>): void {
    this.blocks[allocation] = block;
    block.owner = allocation;
  }

  /** What the block that was taken, instead of the model's choice, shows of what no file has. */
  private learn(row: number): void {
    const { events } = this.recording;
    const taken = freeBlockAt(this.parts, events.address[row]!);
    const candidate = this.allocator.peek(events.sizeBytes[row]!, this.streamOf(row));
    if (taken === undefined || candidate === null || taken === candidate) return;
    if (taken.segment === candidate.segment) {
      if (this.mismatchCount === 1) this.boundReservation(taken, candidate);
    } else if (taken.sizeBytes === candidate.sizeBytes)
      this.driver.preferred(taken.segment.addr, candidate.segment.addr);
  }

  /**
   * Torch counts the unmapped rest of a reservation as part of the block at its growing edge. Where that block was
   * taken although another fits, the rest must be so small that both together are less than the other.
   */
  private boundReservation(taken: Block<never>, candidate: Block<never>): void {
    const { next, segment } = taken;
    if (next === null || next.mapped || next.next !== null) return;
    const reach =
      candidate.next !== null && !candidate.next.mapped
        ? candidate.sizeBytes + candidate.next.sizeBytes
        : candidate.sizeBytes;
    this.endReservation(segment, taken.addr + reach, taken.addr + taken.sizeBytes);
  }

  /**
   * A request that grew a new reservation although the one it has would hold it: that must end before. Torch reserves
   * 1.125 × the device's total.
   */
  private boundByJump(row: number): void {
    const edge = this.allocator.peekEdge(this.recording.events.sizeBytes[row]!, this.streamOf(row));
    const next = this.driver.next();
    if (edge === null || next < 0) return;
    const { segment, addr, bytes, mappedTo } = edge;
    const recorded = this.recording.events.address[next]!;
    // Reservations do not overlap.
    const end = recorded > mappedTo ? Math.min(addr + bytes, recorded + segment.unitBytes) : addr + bytes;
    if (recorded !== mappedTo) this.endReservation(segment, end, mappedTo);
  }

  /** `end`: the reservation ends before; `mappedTo`: and not before this. */
  private endReservation({ addr, unitBytes }: Segment<never>, end: number, mappedTo: number): void {
    const bytes = Math.ceil((end - addr) / unitBytes - 1) * unitBytes;
    if (bytes >= mappedTo - addr) this.impliedReservation = bytes;
  }

  private note(
    row: number,
    kind: MismatchKind,
    requestedBytes: number | null,
    predictedAddress: number | null,
    recordedAddress: number | null,
  ): void {
    this.mismatchCount += 1;
    if (this.mismatches.length >= MAX_MISMATCHES) return;
    const seq = this.recording.events.seq[row]!;
    this.mismatches.push({ seq, kind, requestedBytes, predictedAddress, recordedAddress });
  }

  // ---- driver entries

  /** Driver entries that no request follows. */
  private flushesBetween(from: number, to: number): void {
    for (let row = this.driver.next(); row >= 0 && !this.isHopeless; row = this.driver.next()) {
      if (this.driver.isRelease(row)) {
        // What came before was completed with it.
        this.flush(Math.max(from, this.completedTo), to, 'explicit');
        continue;
      }
      this.note(row, 'stray_growth', null, null, this.recording.events.address[row]!);
      this.driver.differing += 1;
      this.driver.use(row);
      this.forceGrowth(row);
    }
  }

  private flush(from: number, to: number, kind: ReplayedFlush['kind']): void {
    const { driver, recording } = this;
    const row = driver.next();
    const before = driver.repeated + driver.differing;
    const differing = driver.differing;
    for (let i = from; i < to; i += 1) if (recording.events.action[i] === FREE_COMPLETED) this.completeFree(i);
    this.completedTo = to;
    this.pools.open(to);
    this.allocator.tracesBlocks = true;
    this.allocator.flush();
    this.allocator.tracesBlocks = false;
    this.pools.close();
    driver.forceReleases();
    const seq = recording.events.seq[row >= 0 ? row : from]!;
    const beforeSeq = recording.events.seq[Math.min(to, recording.events.count - 1)]!;
    this.flushes.push({ seq, kind, beforeSeq, released: driver.repeated + driver.differing - before });
    if (driver.differing > differing) this.note(row >= 0 ? row : from, 'release_differs', null, null, null);
  }

  /** What the model did not do of the group, done by force. */
  private repeatDriverEntries(): void {
    for (let row = this.driver.next(); row >= 0; row = this.driver.next()) {
      if (this.driver.isRelease(row)) this.driver.forceReleases();
      else {
        this.driver.use(row);
        this.driver.differing += 1;
        this.forceGrowth(row);
      }
    }
  }

  private forceGrowth(row: number): void {
    const { events, poolId, poolOf } = this.recording;
    const bytes = events.sizeBytes[row]!;
    const addr = events.address[row]!;
    if (events.action[row] === SEGMENT_MAP) {
      if (!this.driver.force(() => mapRange(this.parts, addr, bytes))) this.impossiblePlacements += 1;
      return;
    }
    const pool = poolOf.get(events.seq[row]!) ?? 0;
    const owner = { stream: this.streamOf(row), poolId: poolId(pool), isSmall: bytes === SMALL_SEGMENT_BYTES };
    addSegment(this.parts, addr, bytes, owner);
  }

  /** Frees of the group that the model's own wait has not completed. */
  private settleCompletions(from: number, to: number): void {
    for (let i = from; i < to; i += 1) {
      if (this.recording.events.action[i] !== FREE_COMPLETED) continue;
      const block = this.blockOf(i);
      if (block === undefined) this.completedByModel.delete(this.recording.events.address[i]!);
      else this.completeFree(i);
    }
  }

  /**
   * Whether a free completed just before the request's driver entries or between them, so that it may have been a
   * forced wait.
   */
  private followsCompletion(from: number, row: number): boolean {
    const { action } = this.recording.events;
    if (from > 0 && action[from - 1] === FREE_COMPLETED) return true;
    return this.findIn(from, row, (code) => code === FREE_COMPLETED) >= 0;
  }

  private findIn(from: number, to: number, wanted: (code: number) => boolean): number {
    for (let i = from; i < to; i += 1) if (wanted(this.recording.events.action[i]!)) return i;
    return -1;
  }

  private streamOf(row: number): number {
    const stream = this.stream[row]!;
    return Number.isNaN(stream) ? 0 : stream;
  }
}

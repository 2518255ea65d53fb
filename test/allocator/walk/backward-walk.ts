/**
 * The state of PyTorch's CUDA caching allocator at any event of a trace, by undoing the trace from the final state of
 * the snapshot backwards. A recording rarely begins with an empty allocator, and a ring buffer forgets its beginning,
 * but the final blocks are always there. Rules: torch `c10/cuda/CUDACachingAllocator.cpp` (`malloc`, `free_block`,
 * `should_split`, `release_cached_blocks`); a trace entry carries the *requested* size, the walk accounts for *actual*
 * sizes.
 */

import { roundSize, roundTo512 } from '../../../src/allocator/rounding.js';
import {
  type AllocatorSettings,
  LARGE_REMAINDER_BYTES,
  MIN_BLOCK_BYTES,
  SMALL_BYTES,
  SMALL_SEGMENT_BYTES,
} from '../../../src/allocator/settings.js';
import {
  ALLOC,
  FREE_COMPLETED,
  FREE_REQUESTED,
  SEGMENT_ALLOC,
  SEGMENT_FREE,
  SEGMENT_MAP,
  SEGMENT_UNMAP,
} from '../../../src/allocator/trace-action-codes.js';
import { type AllocatorState, placeBlocks, type StateBlocks } from '../../../src/allocator/walk/allocator-state.js';
import { growColumn } from '../../../src/allocator/walk/grow-column.js';
import type { FinalState, Peak, WalkEvents } from '../../../src/allocator/walk/walk-input.js';
import { ENUMS } from '../../../src/model/columns.js';
import type { TraceAction } from '../../../src/model/vocabulary.js';
import { AddressIndex } from './address-index.js';
import { blocksOfSlots } from './blocks-of-slots.js';
import { HistoryFactLog, type HistoryFacts } from './history-facts.js';
import { RevisableMaximum } from './revisable-maximum.js';
import { INFERRED_POOL, INFERRED_SMALL, SegmentMap } from './segment-map.js';

export interface WalkOptions {
  /**
   * Keep the state after each of these events; the state just before event n is the state after n − 1, the start is −1.
   * Ask for a few: each costs a look-up per alloc until all its blocks are resolved.
   */
  readonly captureAfter?: readonly number[] | undefined;
  /** False if the recording left out `free_requested` entries (`skip_actions`): nothing is then known to be pending. */
  readonly freeRequestedRecorded?: boolean | undefined;
  /**
   * False if it left out `free_completed` entries: each request then counts as the completion, and the walk as inexact.
   */
  readonly freeCompletedRecorded?: boolean | undefined;
}

/** What can contradict the allocator's rules. The event is then undone as far as it makes sense, or not at all. */
export type ViolationKind =
  | 'final_segment_overlap'
  | 'final_block_outside_segments'
  | 'final_block_overlap'
  | 'bad_size'
  | 'alloc_outside_segments'
  | 'alloc_of_dead_block'
  | 'alloc_of_pending_block'
  | 'alloc_size_mismatch'
  | 'pool_mismatch'
  | 'free_outside_segments'
  | 'free_of_live_block'
  | 'free_overlap'
  | 'free_request_of_dead_block'
  | 'free_request_of_allocated_block'
  | 'segment_absent'
  | 'segment_in_use'
  | 'segment_extent_mismatch'
  | 'segment_present';

export interface Violation {
  /** Null: in the final state itself. */
  readonly seq: number | null;
  readonly action: TraceAction | null;
  readonly what: ViolationKind;
  readonly address: number;
}

const MAX_VIOLATIONS = 100;
/** The dump reads segments and traces one after the other; other threads get in a few events between. */
const TAIL_SKEW_EVENTS = 16;

const ALLOCATED = 0;
const PENDING = 1;

const FROM_NOTHING = 0;
const FROM_FINAL_BLOCK = 1;
const FROM_ALLOC_EVENT = 2;
const FROM_FREE_EVENT = 3;

/** How the true size of a block is found while the walk is inside its life. */
const SIZE_CERTAIN = 0;
/** Large cudaMalloc pool: the leftover is the range behind it, if that is ≤ 1 MiB. */
const SIZE_BY_REMAINDER = 1;
/** At least `max_split_size`: never split, so it reaches to the next active block or the segment's end. */
const SIZE_UNSPLIT = 2;
/** cudaMalloc segment under expandable_segments:True: either rule, depending on when the setting was changed. */
const SIZE_BY_EITHER = 3;

/** Blocks of the captured state, whose sizes and stacks the rest of the walk completes. */
interface Capture {
  readonly state: AllocatorState;
  readonly blocks: StateBlocks;
  /** Row per slot, −1 = none: for as long as the slot holds the block it held at the capture. */
  readonly rowOfSlot: Int32Array;
  unresolved: number;
}

/**
 * Feed {@link undo} with the batches of a trace from the last to the first, then read. Never throws on a trace that
 * contradicts itself: see {@link violations}. O(log live) per event; memory is that of the live blocks and the
 * captures.
 *
 * **True sizes.** A block of the small pool or an expandable segment has exactly its rounded size; a block live at the
 * end has the size of the snapshot. Any other was cut with 0 ≤ r ≤ 1 MiB left on it. As the large pool never holds a
 * free block of ≤ 1 MiB, the distance g from its rounded end to the next active block or the segment's end is at every
 * moment r or > r + 1 MiB. So g is looked at when the block is entered and whenever another is entered right behind it:
 * g ≤ 1 MiB proves r = g; if that never happens down to its alloc, r = 0 is proved. Only blocks live before the first
 * event can stay uncertain: r = 0 is assumed, and bounds are kept. Totals, peaks and captures are corrected when r is
 * found, however late (see {@link RevisableMaximum}), so the numbers are exact in one pass; read before the walk is
 * over, they may still lack some r of blocks that are then uncertain.
 */
export class BackwardWalk {
  /** Mapped or cudaMalloc'ed bytes now. */
  reservedBytes = 0;
  /** Actual bytes of allocated and pending blocks now. */
  activeBytes = 0;
  /** The pending part of {@link activeBytes}. */
  pendingBytes = 0;
  /** Requested bytes of the active blocks where known. */
  requestedBytes = 0;
  requestedUnknownBlocks = 0;
  /** The first violations met (the latest events), at most 100. */
  readonly violations: Violation[] = [];
  violationCount = 0;
  /** Those among the last 16 events: a dump that is not atomic explains a few. */
  tailViolationCount = 0;
  /** Frees without a completion that were taken as completed. */
  impliedCompletions = 0;
  /** Highest and lowest `seq` seen. */
  lastSeq: number | null = null;
  firstSeq: number | null = null;

  private readonly settings: AllocatorSettings;
  private readonly freeRequestedRecorded: boolean;
  private readonly freeCompletedRecorded: boolean;
  private readonly peakActive = new RevisableMaximum();
  private peakReservedBytes = Number.NEGATIVE_INFINITY;
  private peakReservedSeq = -1;

  private readonly blocks = new AddressIndex();
  private readonly unusedBlocks: number[] = [];
  private blockSlots = 0;
  private blockAddress = new Float64Array(1024);
  private blockSize = new Float64Array(1024);
  private blockMin = new Float64Array(1024);
  private blockMax = new Float64Array(1024);
  private blockRequested = new Float64Array(1024);
  private blockState = new Uint8Array(1024);
  private blockSizing = new Uint8Array(1024);
  private blockStack = new Int32Array(1024);
  private blockStackOrigin = new Uint8Array(1024);
  /** Term of {@link peakActive} while the size is uncertain. */
  private blockTerm = new Int32Array(1024);

  private readonly segments = new SegmentMap();
  private readonly facts = new HistoryFactLog();

  /** Ascending: the walk comes to the last entry first. */
  private readonly captureQueue: number[];
  private nextCapture: number;
  private readonly captures = new Map<number, Capture>();
  private readonly unsettled: Capture[] = [];

  constructor(final: FinalState, settings: AllocatorSettings, options: WalkOptions = {}) {
    this.settings = settings;
    this.freeRequestedRecorded = options.freeRequestedRecorded ?? true;
    this.freeCompletedRecorded = options.freeCompletedRecorded ?? true;
    this.captureQueue = [...new Set(options.captureAfter ?? [])].sort((a, b) => a - b);
    this.nextCapture = this.captureQueue.at(-1) ?? Number.NEGATIVE_INFINITY;
    this.addFinalSegments(final.segments);
    this.addFinalBlocks(final.blocks);
  }

  /** Actual bytes handed out and not freed, now. */
  get allocatedBytes(): number {
    return this.activeBytes - this.pendingBytes;
  }

  /** Whether nothing so far contradicts the allocator's rules or had to be assumed. */
  get exact(): boolean {
    return this.violationCount === 0 && this.impliedCompletions === 0;
  }

  /** Whether the allocator is empty now; after the last batch: the trace is complete from its first allocation on. */
  get empty(): boolean {
    return this.reservedBytes === 0 && this.blocks.size === 0;
  }

  /** Whether going on can still change a state captured so far. */
  get capturesSettled(): boolean {
    return this.captureQueue.length === 0 && this.unsettled.length === 0;
  }

  /** Maximum of the actual active bytes over all moments seen, the present one (before the earliest event) included. */
  get peak(): Peak {
    const { total, seq } = this.peakActive.result();
    return this.activeBytes >= total ? { bytes: this.activeBytes, seq: null } : { bytes: total, seq };
  }

  get peakReserved(): Peak {
    if (this.reservedBytes >= this.peakReservedBytes) return { bytes: this.reservedBytes, seq: null };
    return { bytes: this.peakReservedBytes, seq: this.peakReservedSeq };
  }

  /** Undoes the events of `batch`, all of which precede those undone so far. */
  undo(batch: WalkEvents): void {
    const { count, seq: seqs, action, address } = batch;
    for (let i = count - 1; i >= 0; i -= 1) {
      const seq = seqs[i]!;
      if (this.lastSeq === null) this.lastSeq = seq;
      this.firstSeq = seq;
      while (this.nextCapture >= seq) this.capture();
      this.peakActive.record(this.activeBytes, seq);
      if (this.reservedBytes >= this.peakReservedBytes) {
        this.peakReservedBytes = this.reservedBytes;
        this.peakReservedSeq = seq;
      }
      const code = action[i]!;
      if (code > SEGMENT_UNMAP) continue;
      const what = this.undoEvent(batch, i, code, seq);
      if (what !== null) this.violate(seq, code, what, address[i]!);
    }
  }

  /**
   * The state after event `seq`, one of `captureAfter`. Sizes, stacks and alloc events of its blocks are completed by
   * the rest of the walk. Undefined while the walk has not come that far; call after the last batch for moments before
   * the first event.
   */
  captured(seq: number): AllocatorState | undefined {
    return this.captures.get(seq)?.state;
  }

  /** Call after the last batch: applies the captures before the first event, and returns the start state. */
  finish(): AllocatorState {
    // Of the frees of blocks that are pending here the trace has only the completions.
    for (const slot of this.blocks.slotsInOrder()) {
      if (this.blockState[slot] !== PENDING || this.blockStackOrigin[slot] !== FROM_FREE_EVENT) continue;
      this.setStack(slot, -1, FROM_NOTHING);
    }
    while (this.captureQueue.length > 0) this.capture();
    return this.state();
  }

  /**
   * The present state: before the earliest event undone so far. Blocks whose size is still open are uncertain in it.
   */
  state(): AllocatorState {
    return this.snapshot(null).state;
  }

  /** What a walk forward from the start state needs to repeat this history exactly; after {@link finish}. */
  historyFacts(): HistoryFacts {
    return this.facts.facts();
  }

  // ---- events

  /** Undoes one event, or returns the reason for skipping it. */
  private undoEvent(batch: WalkEvents, i: number, code: number, seq: number): ViolationKind | null {
    const address = batch.address[i]!;
    const bytes = batch.sizeBytes[i]!;
    if (!(bytes >= 0 && bytes <= Number.MAX_SAFE_INTEGER)) return 'bad_size';
    switch (code) {
      case ALLOC:
        return this.undoAlloc(seq, address, bytes, batch.stackId[i]!);
      case FREE_COMPLETED:
        return this.undoFree(address, bytes, batch.stackId[i]!, this.freeRequestedRecorded ? PENDING : ALLOCATED);
      case FREE_REQUESTED:
        return this.undoFreeRequest(seq, address, bytes, batch.stackId[i]!);
      case SEGMENT_FREE:
        return this.undoSegmentFree(address, bytes, batch.stream[i]!, batch.pool?.[i] ?? -1);
      case SEGMENT_UNMAP:
        return this.undoUnmap(address, bytes, batch.stream[i]!, batch.pool?.[i] ?? -1);
      case SEGMENT_ALLOC:
      case SEGMENT_MAP:
        return this.undoGrowth(seq, code, address, bytes);
      default:
        return null;
    }
  }

  private undoAlloc(seq: number, address: number, requested: number, stackId: number): ViolationKind | null {
    const segment = this.segments.at(address);
    if (segment < 0) return 'alloc_outside_segments';
    const slot = this.blocks.delete(address);
    if (slot < 0) return 'alloc_of_dead_block';
    const rounded = roundSize(requested, this.settings);
    const known = this.blockRequested[slot]!;
    const pending = this.blockState[slot] === PENDING;
    let what: ViolationKind | null = null;
    if (pending && this.freeRequestedRecorded) what = 'alloc_of_pending_block';
    else if (rounded > this.blockMax[slot]! || (known >= 0 && known !== requested)) what = 'alloc_size_mismatch';
    else if (!this.segments.confirmSmall(segment, rounded <= SMALL_BYTES ? 1 : 0)) what = 'pool_mismatch';
    this.settleAtAlloc(slot);
    for (let i = this.unsettled.length - 1; i >= 0; i -= 1) this.resolve(i, slot, seq, requested, stackId);
    const size = this.blockSize[slot]!;
    // The entry's own stack goes before the block's; a recording with context="state" has only the block's.
    const stack = stackId < 0 ? this.blockStack[slot]! : -1;
    const origin = stack < 0 ? FROM_NOTHING : this.blockStackOrigin[slot]!;
    const uncertain = this.blockMax[slot]! - this.blockMin[slot]!;
    this.facts.alloc(seq, size - roundTo512(requested), uncertain, this.segments.poolOf(segment), stack, origin);
    this.activeBytes -= size;
    if (pending) this.pendingBytes -= size;
    if (known >= 0) this.requestedBytes -= known;
    else this.requestedUnknownBlocks -= 1;
    this.unusedBlocks.push(slot);
    return what;
  }

  private undoFree(address: number, requested: number, stackId: number, state: number): ViolationKind | null {
    const segment = this.segments.at(address);
    if (segment < 0) return 'free_outside_segments';
    const rounded = roundSize(requested, this.settings);
    const before = this.blocks.floor(address);
    const behind = this.blocks.afterCursor();
    if (before >= 0 && this.blockAddress[before] === address) return 'free_of_live_block';
    const end = this.segments.end[segment]!;
    const limit = behind >= 0 && this.blockAddress[behind]! < end ? this.blockAddress[behind]! : end;
    if (address + rounded > limit) return 'free_overlap';
    if (before >= 0 && this.blockAddress[before]! + this.blockMin[before]! > address) return 'free_overlap';

    const slot = this.newBlock(address, rounded, requested, state);
    this.blockStack[slot] = stackId;
    this.blockStackOrigin[slot] = stackId < 0 ? FROM_NOTHING : FROM_FREE_EVENT;
    this.blocks.insertAtCursor(address, slot);
    const fits = this.segments.confirmSmall(segment, rounded <= SMALL_BYTES ? 1 : 0);
    if (this.segments.small[segment] === 0 && this.segments.expandable[segment] === 0) this.openSize(slot, limit);
    // A block of another segment ends where that one ends, and has been seen so.
    const open = before >= 0 && this.blockSizing[before] !== SIZE_CERTAIN;
    if (open && this.blockAddress[before]! >= this.segments.address[segment]!) this.narrow(before, address);
    return fits ? null : 'pool_mismatch';
  }

  private undoFreeRequest(seq: number, address: number, requested: number, stackId: number): ViolationKind | null {
    const slot = this.blocks.floor(address);
    if (slot < 0 || this.blockAddress[slot] !== address) {
      this.impliedCompletions += 1;
      if (this.freeCompletedRecorded) this.violate(seq, FREE_REQUESTED, 'free_request_of_dead_block', address);
      return this.undoFree(address, requested, stackId, ALLOCATED);
    }
    if (this.blockState[slot] !== PENDING) return 'free_request_of_allocated_block';
    this.blockState[slot] = ALLOCATED;
    this.pendingBytes -= this.blockSize[slot]!;
    // Torch completes a deferred free in a later allocation, with the stack of that one.
    if (stackId >= 0 && (this.blockStackOrigin[slot] === FROM_FREE_EVENT || this.blockStack[slot]! < 0)) {
      this.setStack(slot, stackId, FROM_FREE_EVENT);
    }
    return null;
  }

  private undoGrowth(seq: number, code: number, address: number, bytes: number): ViolationKind | null {
    const end = address + bytes;
    const segment = this.segments.at(address);
    if (segment < 0 || end > this.segments.end[segment]!) return 'segment_absent';
    if (bytes === 0) return null;
    const before = this.blocks.floor(address);
    const behind = this.blocks.afterCursor();
    if (before >= 0 && this.blockAddress[before]! + this.blockSize[before]! > address) return 'segment_in_use';
    if (behind >= 0 && this.blockAddress[behind]! < end) return 'segment_in_use';
    const isWhole = this.segments.address[segment] === address && this.segments.end[segment] === end;
    if (code === SEGMENT_ALLOC && !isWhole) return 'segment_extent_mismatch';
    const { small, pool, inferred } = this.segments.owner(segment);
    this.facts.growth(seq, small, pool, inferred === 0 ? 0 : 1);
    this.segments.cut(segment, address, end);
    this.reservedBytes -= bytes;
    return null;
  }

  private undoSegmentFree(address: number, bytes: number, stream: number, pool: number): ViolationKind | null {
    if (bytes === 0) return null;
    if (!this.segments.isVacant(address, address + bytes)) return 'segment_present';
    // Segments of the large pool have 10 MiB or more, so the size decides the class.
    const small = bytes === SMALL_SEGMENT_BYTES ? 1 : 0;
    const inferred = pool < 0 ? INFERRED_POOL : 0;
    this.segments.add(address, address + bytes, { stream, small, pool: Math.max(0, pool), expandable: 0, inferred });
    this.reservedBytes += bytes;
    return null;
  }

  private undoUnmap(address: number, bytes: number, stream: number, pool: number): ViolationKind | null {
    if (bytes === 0) return null;
    if (!this.segments.isVacant(address, address + bytes)) return 'segment_present';
    // Units of the large pool are 20 MiB, those of the small pool 2 MiB.
    const small = bytes % this.settings.largeSegmentBytes === 0 ? 0 : 1;
    this.segments.addMapped(address, address + bytes, stream, pool, small);
    this.reservedBytes += bytes;
    return null;
  }

  // ---- sizes

  private openSize(slot: number, limit: number): void {
    const rounded = this.blockMin[slot]!;
    let most: number;
    if (this.settings.expandableSegments) {
      this.blockSizing[slot] = SIZE_BY_EITHER;
      most = LARGE_REMAINDER_BYTES;
    } else if (rounded >= this.settings.maxSplitBytes) {
      this.blockSizing[slot] = SIZE_UNSPLIT;
      // A request is refused a block that exceeds it by this or more.
      most = this.settings.maxNonSplitRoundingBytes - MIN_BLOCK_BYTES;
    } else {
      this.blockSizing[slot] = SIZE_BY_REMAINDER;
      most = LARGE_REMAINDER_BYTES;
    }
    this.blockMax[slot] = rounded + most;
    this.blockTerm[slot] = this.peakActive.open();
    this.narrow(slot, limit);
  }

  /** The next active block behind an open block, or its segment's end, is seen at `limit`. */
  private narrow(slot: number, limit: number): void {
    const gap = limit - this.blockAddress[slot]! - this.blockMin[slot]!;
    const sizing = this.blockSizing[slot];
    let most = this.blockMax[slot]! - this.blockMin[slot]!;
    if (sizing === SIZE_BY_REMAINDER) {
      if (gap <= LARGE_REMAINDER_BYTES) {
        this.revise(slot, gap);
        this.settle(slot);
        return;
      }
      most = Math.min(most, gap - LARGE_REMAINDER_BYTES - MIN_BLOCK_BYTES);
    } else {
      const fits = gap <= most;
      most = Math.min(most, gap);
      if (sizing === SIZE_UNSPLIT && fits) this.revise(slot, gap - (this.blockSize[slot]! - this.blockMin[slot]!));
    }
    this.blockMax[slot] = this.blockMin[slot]! + most;
    if (most === 0) this.settle(slot);
    else this.patchCaptures(slot, 0);
  }

  private revise(slot: number, delta: number): void {
    if (delta === 0) return;
    this.blockSize[slot] = this.blockSize[slot]! + delta;
    this.activeBytes += delta;
    if (this.blockState[slot] === PENDING) this.pendingBytes += delta;
    this.peakActive.revise(this.blockTerm[slot]!, delta);
    this.patchCaptures(slot, delta);
  }

  /** The size is certain from here on. */
  private settle(slot: number): void {
    this.blockMin[slot] = this.blockSize[slot]!;
    this.blockMax[slot] = this.blockSize[slot]!;
    this.blockSizing[slot] = SIZE_CERTAIN;
    this.peakActive.close(this.blockTerm[slot]!);
    this.patchCaptures(slot, 0);
  }

  /**
   * At its alloc a block is next to what it was cut from: what is not proved to be left on it by then was split off.
   */
  private settleAtAlloc(slot: number): void {
    const sizing = this.blockSizing[slot];
    if (sizing === SIZE_CERTAIN) return;
    if (sizing === SIZE_BY_EITHER) this.peakActive.close(this.blockTerm[slot]!);
    else this.settle(slot);
  }

  private patchCaptures(slot: number, delta: number): void {
    for (const { rowOfSlot, blocks } of this.unsettled) {
      const row = rowOfSlot[slot] ?? -1;
      if (row < 0) continue;
      blocks.sizeBytes[row] = blocks.sizeBytes[row]! + delta;
      blocks.minBytes[row] = this.blockMin[slot]!;
      blocks.maxBytes[row] = this.blockMax[slot]!;
    }
  }

  // ---- captures

  /** Of the block, in the captured states too. */
  private setStack(slot: number, stackId: number, origin: number): void {
    this.blockStack[slot] = stackId;
    this.blockStackOrigin[slot] = origin;
    for (const { rowOfSlot, blocks } of this.unsettled) {
      const row = rowOfSlot[slot] ?? -1;
      if (row < 0) continue;
      blocks.stackId[row] = stackId;
      blocks.stackOrigin[row] = origin;
    }
  }

  private capture(): void {
    const seq = this.captureQueue.pop()!;
    this.nextCapture = this.captureQueue.at(-1) ?? Number.NEGATIVE_INFINITY;
    const capture = this.snapshot(seq);
    this.captures.set(seq, capture);
    if (capture.unresolved > 0) this.unsettled.push(capture);
  }

  /** The alloc of a captured block has been reached. */
  private resolve(index: number, slot: number, seq: number, requested: number, stackId: number): void {
    const capture = this.unsettled[index]!;
    const row = capture.rowOfSlot[slot] ?? -1;
    if (row < 0) return;
    capture.rowOfSlot[slot] = -1;
    const { blocks } = capture;
    blocks.allocSeq[row] = seq;
    if (blocks.requestedBytes[row]! < 0) blocks.requestedBytes[row] = requested;
    if (stackId >= 0) {
      blocks.stackId[row] = stackId;
      blocks.stackOrigin[row] = FROM_ALLOC_EVENT;
    }
    capture.unresolved -= 1;
    if (capture.unresolved === 0) this.unsettled.splice(index, 1);
  }

  private snapshot(afterSeq: number | null): Capture {
    const segments = this.segments.snapshot();
    const slots = this.blocks.slotsInOrder();
    const blocks = blocksOfSlots(slots, {
      address: this.blockAddress,
      size: this.blockSize,
      min: this.blockMin,
      max: this.blockMax,
      requested: this.blockRequested,
      state: this.blockState,
      stack: this.blockStack,
      stackOrigin: this.blockStackOrigin,
    });
    placeBlocks(segments, blocks);
    const rowOfSlot = new Int32Array(this.blockSlots).fill(-1);
    for (let row = 0; row < slots.length; row += 1) rowOfSlot[slots[row]!] = row;
    return { state: { afterSeq, segments, blocks }, blocks, rowOfSlot, unresolved: slots.length };
  }

  // ---- the final state

  private addFinalSegments(final: FinalState['segments']): void {
    for (let i = 0; i < final.count; i += 1) {
      const start = final.address[i]!;
      const bytes = final.totalBytes[i]!;
      if (!this.segments.isVacant(start, start + bytes)) {
        this.violate(null, -1, 'final_segment_overlap', start);
        continue;
      }
      const type = final.type[i]!;
      const known = type === 0 || type === 1;
      this.segments.add(start, start + bytes, {
        stream: final.stream[i]!,
        small: (known ? type === 0 : bytes === SMALL_SEGMENT_BYTES) ? 1 : 0,
        pool: Math.max(0, final.pool[i]!),
        expandable: final.expandable[i] === 1 ? 1 : 0,
        inferred: known ? 0 : INFERRED_SMALL,
      });
      this.reservedBytes += bytes;
    }
  }

  private addFinalBlocks(final: FinalState['blocks']): void {
    for (let i = 0; i < final.count; i += 1) {
      const state = final.state[i]!;
      if (state !== ALLOCATED && state !== PENDING) continue;
      const address = final.address[i]!;
      const size = final.sizeBytes[i]!;
      const segment = this.segments.at(address);
      if (segment < 0 || !(address + size <= this.segments.end[segment]!)) {
        this.violate(null, -1, 'final_block_outside_segments', address);
        continue;
      }
      const before = this.blocks.floor(address);
      const behind = this.blocks.afterCursor();
      const overlaps =
        (before >= 0 && this.blockAddress[before]! + this.blockSize[before]! > address) ||
        (behind >= 0 && this.blockAddress[behind]! < address + size);
      if (!(size > 0) || overlaps) {
        this.violate(null, -1, 'final_block_overlap', address);
        continue;
      }
      const requested = final.requestedBytes[i]!;
      const slot = this.newBlock(address, size, requested >= 0 ? requested : -1, state);
      this.blockStack[slot] = final.stackId[i]!;
      this.blockStackOrigin[slot] = final.stackId[i]! < 0 ? FROM_NOTHING : FROM_FINAL_BLOCK;
      this.blocks.insertAtCursor(address, slot);
    }
  }

  private newBlock(address: number, size: number, requested: number, state: number): number {
    const slot = this.unusedBlocks.pop() ?? this.blockSlots++;
    if (slot >= this.blockAddress.length) {
      this.blockAddress = growColumn(this.blockAddress);
      this.blockSize = growColumn(this.blockSize);
      this.blockMin = growColumn(this.blockMin);
      this.blockMax = growColumn(this.blockMax);
      this.blockRequested = growColumn(this.blockRequested);
      this.blockState = growColumn(this.blockState);
      this.blockSizing = growColumn(this.blockSizing);
      this.blockStack = growColumn(this.blockStack);
      this.blockStackOrigin = growColumn(this.blockStackOrigin);
      this.blockTerm = growColumn(this.blockTerm);
    }
    this.blockAddress[slot] = address;
    this.blockSize[slot] = size;
    this.blockMin[slot] = size;
    this.blockMax[slot] = size;
    this.blockRequested[slot] = requested;
    this.blockState[slot] = state;
    this.blockSizing[slot] = SIZE_CERTAIN;
    this.activeBytes += size;
    if (state === PENDING) this.pendingBytes += size;
    if (requested >= 0) this.requestedBytes += requested;
    else this.requestedUnknownBlocks += 1;
    return slot;
  }

  private violate(seq: number | null, code: number, what: ViolationKind, address: number): void {
    this.violationCount += 1;
    if (seq !== null && this.lastSeq !== null && seq > this.lastSeq - TAIL_SKEW_EVENTS) this.tailViolationCount += 1;
    if (this.violations.length < MAX_VIOLATIONS) {
      this.violations.push({ seq, action: ENUMS.trace_action[code] ?? null, what, address });
    }
  }
}

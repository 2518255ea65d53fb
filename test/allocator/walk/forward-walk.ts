/**
 * The state of one device's allocator at any entry of its trace, forward from the reconstructed start. The walk back
 * (`backward-walk.ts`) finds that start and the facts missing from the entries; with both, going forward needs no
 * address order and no corrections, and costs a third of it.
 */

import { roundTo512 } from '../../../src/allocator/rounding.js';
import { type AllocatorSettings, SMALL_SEGMENT_BYTES } from '../../../src/allocator/settings.js';
import {
  ALLOC,
  FREE_COMPLETED,
  FREE_REQUESTED,
  SEGMENT_ALLOC,
  SEGMENT_FREE,
  SEGMENT_MAP,
  SEGMENT_UNMAP,
} from '../../../src/allocator/trace-action-codes.js';
import { AddressTable } from '../../../src/allocator/walk/address-table.js';
import { type AllocatorState, placeBlocks } from '../../../src/allocator/walk/allocator-state.js';
import { growColumn } from '../../../src/allocator/walk/grow-column.js';
import type { WalkEvents } from '../../../src/allocator/walk/walk-input.js';
import { ENUMS } from '../../../src/model/columns.js';
import { blocksOfSlots } from './blocks-of-slots.js';
import type { HistoryFacts } from './history-facts.js';
import { INFERRED_POOL, INFERRED_SMALL, SegmentMap, type SegmentObserver } from './segment-map.js';

const ALLOCATED = ENUMS.block_state.indexOf('active_allocated');
const PENDING = ENUMS.block_state.indexOf('active_pending_free');
const FROM_ALLOC_EVENT = ENUMS.stack_origin.indexOf('alloc_event');
const FROM_NOTHING = ENUMS.stack_origin.indexOf('none');

/** Sees the totals after every entry, in order of seq. All in actual bytes. */
export interface TotalsObserver {
  after(seq: number, allocatedBytes: number, activeBytes: number, reservedBytes: number): void;
}

/**
 * Sees lifetimes as they begin and end, those of blocks from before the first entry too. Slots are columns of the walk;
 * a slot is used again after its end.
 */
export interface LifeObserver extends SegmentObserver {
  /** Called before each entry that changes blocks or segments. */
  entry(seq: number): void;
  /** `row` of `batch` is the alloc entry; both are absent for blocks from before the first entry. */
  blockBegins(walk: ForwardWalk, slot: number, batch?: WalkEvents, row?: number): void;
  /** The free was requested; the block is active until it is completed. */
  blockPends(walk: ForwardWalk, slot: number): void;
  /** `row` of `batch` is the entry that ends it. */
  blockEnds(walk: ForwardWalk, slot: number, batch: WalkEvents, row: number): void;
}

export interface ForwardOptions {
  /**
   * False if the recording left out `free_completed` entries (`skip_actions`): each request then counts as the
   * completion.
   */
  readonly freeCompletedRecorded?: boolean | undefined;
  readonly lives?: LifeObserver | undefined;
}

/**
 * Feed {@link apply} with the entries of a trace from the first on, then read. Never throws on a trace that contradicts
 * itself: an entry that makes no sense is counted in {@link divergences} and left out as far as it must be.
 */
export class ForwardWalk {
  /** Mapped or cudaMalloc'ed bytes now. */
  reservedBytes = 0;
  /** Actual bytes of allocated and pending blocks now. */
  activeBytes = 0;
  /** The pending part of {@link activeBytes}. */
  pendingBytes = 0;
  /** Entries that did not fit the state they met. */
  divergences = 0;
  /** The last entry applied; −1 = none. */
  lastSeq = -1;

  private readonly settings: AllocatorSettings;
  private readonly facts: HistoryFacts;
  private readonly freeCompletedRecorded: boolean;
  /** The next fact to use; they are in descending order of seq. */
  private nextAlloc: number;
  private nextGrowth: number;

  private readonly lives: LifeObserver | undefined;
  private readonly segments: SegmentMap;
  private readonly table = new AddressTable();
  private readonly unused: number[] = [];
  private slots = 0;
  /** Columns by slot. Sizes are actual bytes. */
  address = new Float64Array(1024);
  size = new Float64Array(1024);
  min = new Float64Array(1024);
  max = new Float64Array(1024);
  /** −1 = unknown. */
  requested = new Float64Array(1024);
  /** Index in ENUMS.block_state. */
  state = new Uint8Array(1024);
  stack = new Int32Array(1024);
  /** Index in ENUMS.stack_origin. */
  origin = new Uint8Array(1024);
  allocSeq = new Int32Array(1024);
  /** The caller's number of the pool id; 0 = default. */
  pool = new Int32Array(1024);
  private live = new Uint8Array(1024);

  constructor(start: AllocatorState, settings: AllocatorSettings, facts: HistoryFacts, options: ForwardOptions = {}) {
    this.settings = settings;
    this.facts = facts;
    this.freeCompletedRecorded = options.freeCompletedRecorded ?? true;
    this.lives = options.lives;
    this.segments = new SegmentMap(options.lives);
    this.nextAlloc = facts.allocs.count - 1;
    this.nextGrowth = facts.growths.count - 1;
    const { segments, blocks } = start;
    for (let i = 0; i < segments.count; i += 1) {
      const from = segments.address[i]!;
      this.segments.add(from, from + segments.totalBytes[i]!, {
        stream: segments.stream[i]!,
        small: segments.small[i]!,
        pool: segments.pool[i]!,
        expandable: segments.expandable[i]!,
        inferred: segments.inferred[i] === 0 ? 0 : INFERRED_POOL + INFERRED_SMALL,
      });
      this.reservedBytes += segments.totalBytes[i]!;
    }
    for (let i = 0; i < blocks.count; i += 1) {
      const slot = this.add(blocks.address[i]!, blocks.sizeBytes[i]!, blocks.requestedBytes[i]!);
      this.min[slot] = blocks.minBytes[i]!;
      this.max[slot] = blocks.maxBytes[i]!;
      this.stack[slot] = blocks.stackId[i]!;
      this.origin[slot] = blocks.stackOrigin[i]!;
      this.allocSeq[slot] = blocks.allocSeq[i]!;
      this.pool[slot] = segments.pool[blocks.segment[i]!] ?? 0;
      this.state[slot] = blocks.state[i]!;
      if (blocks.state[i] === PENDING) this.pendingBytes += blocks.sizeBytes[i]!;
      this.lives?.blockBegins(this, slot);
    }
  }

  /** Actual bytes handed out and not freed, now. */
  get allocatedBytes(): number {
    return this.activeBytes - this.pendingBytes;
  }

  /** Applies rows `from` to `to` (exclusive) of `batch`, which follow those applied so far. */
  apply(batch: WalkEvents, from = 0, to = batch.count, observer?: TotalsObserver): void {
    const { seq, action } = batch;
    for (let i = from; i < to; i += 1) {
      const code = action[i]!;
      if (code <= SEGMENT_UNMAP && !this.applyEvent(batch, i, code)) this.divergences += 1;
      if (observer !== undefined) {
        observer.after(seq[i]!, this.activeBytes - this.pendingBytes, this.activeBytes, this.reservedBytes);
      }
    }
    if (to > from) this.lastSeq = seq[to - 1]!;
  }

  private applyEvent(batch: WalkEvents, i: number, code: number): boolean {
    const address = batch.address[i]!;
    const bytes = batch.sizeBytes[i]!;
    if (!(bytes >= 0 && bytes <= Number.MAX_SAFE_INTEGER && address >= 0)) return false;
    this.lives?.entry(batch.seq[i]!);
    if (code === ALLOC) return this.applyAlloc(batch, i, address, bytes);
    if (code === FREE_REQUESTED) return this.applyFreeRequest(batch, i, address);
    if (code === FREE_COMPLETED) return this.applyFree(batch, i, address);
    if (bytes === 0) return true;
    const stream = batch.stream[i]!;
    const pool = batch.pool?.[i] ?? -1;
    switch (code) {
      case SEGMENT_ALLOC:
      case SEGMENT_MAP:
        return this.applyGrowth(batch.seq[i]!, code, address, bytes, stream, pool);
      case SEGMENT_FREE:
      case SEGMENT_UNMAP:
        return this.applyShrinking(address, bytes);
      default:
        return true;
    }
  }

  private applyAlloc(batch: WalkEvents, i: number, address: number, requested: number): boolean {
    const { allocs } = this.facts;
    const seq = batch.seq[i]!;
    const stackId = batch.stackId[i]!;
    while (this.nextAlloc >= 0 && allocs.seq[this.nextAlloc]! < seq) this.nextAlloc -= 1;
    let size = roundTo512(requested);
    let uncertain = 0;
    let pool = 0;
    let stack = stackId;
    let origin = stackId < 0 ? FROM_NOTHING : FROM_ALLOC_EVENT;
    if (this.nextAlloc >= 0 && allocs.seq[this.nextAlloc] === seq) {
      size += allocs.excessBytes[this.nextAlloc]!;
      uncertain = allocs.uncertainBytes[this.nextAlloc]!;
      pool = allocs.pool[this.nextAlloc]!;
      if (stack < 0) {
        stack = allocs.stackId[this.nextAlloc]!;
        origin = allocs.stackOrigin[this.nextAlloc]!;
      }
    }
    const previous = this.table.get(address);
    const fits = previous < 0;
    if (!fits) this.remove(previous, batch, i);
    const slot = this.add(address, size, requested);
    this.max[slot] = size + uncertain;
    this.stack[slot] = stack;
    this.origin[slot] = origin;
    this.allocSeq[slot] = seq;
    this.pool[slot] = pool;
    this.lives?.blockBegins(this, slot, batch, i);
    return fits;
  }

  private applyFreeRequest(batch: WalkEvents, i: number, address: number): boolean {
    const slot = this.table.get(address);
    if (slot < 0) return false;
    if (this.freeCompletedRecorded && this.state[slot] === PENDING) return false;
    this.lives?.blockPends(this, slot);
    if (!this.freeCompletedRecorded) {
      this.remove(slot, batch, i);
      return true;
    }
    this.state[slot] = PENDING;
    this.pendingBytes += this.size[slot]!;
    return true;
  }

  private applyFree(batch: WalkEvents, i: number, address: number): boolean {
    const slot = this.table.get(address);
    if (slot < 0) return false;
    this.remove(slot, batch, i);
    return true;
  }

  private applyGrowth(
    seq: number,
    code: number,
    address: number,
    bytes: number,
    stream: number,
    pool: number,
  ): boolean {
    const { growths } = this.facts;
    while (this.nextGrowth >= 0 && growths.seq[this.nextGrowth]! < seq) this.nextGrowth -= 1;
    const known = this.nextGrowth >= 0 && growths.seq[this.nextGrowth] === seq ? this.nextGrowth : -1;
    if (!this.segments.isVacant(address, address + bytes)) return false;
    this.reservedBytes += bytes;
    const guess =
      code === SEGMENT_ALLOC ? bytes === SMALL_SEGMENT_BYTES : bytes % this.settings.largeSegmentBytes !== 0;
    const owner = {
      stream,
      small: known < 0 ? (guess ? 1 : 0) : growths.small[known]!,
      pool: known < 0 ? Math.max(0, pool) : growths.pool[known]!,
      expandable: code === SEGMENT_MAP ? 1 : 0,
      inferred: known >= 0 && growths.inferred[known] === 0 ? 0 : INFERRED_POOL + INFERRED_SMALL,
    };
    if (code === SEGMENT_ALLOC) this.segments.add(address, address + bytes, owner);
    else this.segments.join(address, address + bytes, owner);
    return true;
  }

  private applyShrinking(address: number, bytes: number): boolean {
    const segment = this.segments.at(address);
    if (segment < 0 || address + bytes > this.segments.end[segment]!) return false;
    this.segments.cut(segment, address, address + bytes);
    this.reservedBytes -= bytes;
    return true;
  }

  /** Stream of the segment at an address; NaN = unknown. */
  streamAt(address: number): number {
    const segment = this.segments.at(address);
    return segment < 0 ? Number.NaN : this.segments.owner(segment).stream;
  }

  /** Slots of the live blocks, in no order. */
  *liveSlots(): Generator<number, void, void> {
    for (let slot = 0; slot < this.slots; slot += 1) if (this.live[slot] === 1) yield slot;
  }

  /** The present state. O(live blocks · log). */
  snapshot(): AllocatorState {
    const segments = this.segments.snapshot();
    const order = Int32Array.from(this.liveSlots());
    order.sort((a, b) => this.address[a]! - this.address[b]!);
    const blocks = blocksOfSlots(order, {
      address: this.address,
      size: this.size,
      min: this.min,
      max: this.max,
      requested: this.requested,
      state: this.state,
      stack: this.stack,
      stackOrigin: this.origin,
      allocSeq: this.allocSeq,
    });
    placeBlocks(segments, blocks);
    return { afterSeq: this.lastSeq < 0 ? null : this.lastSeq, segments, blocks };
  }

  private add(address: number, size: number, requested: number): number {
    const slot = this.unused.pop() ?? this.slots++;
    if (slot >= this.address.length) this.grow();
    this.address[slot] = address;
    this.size[slot] = size;
    this.min[slot] = size;
    this.max[slot] = size;
    this.requested[slot] = requested;
    this.state[slot] = ALLOCATED;
    this.live[slot] = 1;
    this.table.set(address, slot);
    this.activeBytes += size;
    return slot;
  }

  private remove(slot: number, batch: WalkEvents, i: number): void {
    this.lives?.blockEnds(this, slot, batch, i);
    this.activeBytes -= this.size[slot]!;
    if (this.state[slot] === PENDING) this.pendingBytes -= this.size[slot]!;
    this.table.set(this.address[slot]!, -1);
    this.live[slot] = 0;
    this.unused.push(slot);
  }

  private grow(): void {
    this.address = growColumn(this.address);
    this.size = growColumn(this.size);
    this.min = growColumn(this.min);
    this.max = growColumn(this.max);
    this.requested = growColumn(this.requested);
    this.state = growColumn(this.state);
    this.stack = growColumn(this.stack);
    this.origin = growColumn(this.origin);
    this.allocSeq = growColumn(this.allocSeq);
    this.pool = growColumn(this.pool);
    this.live = growColumn(this.live);
  }
}

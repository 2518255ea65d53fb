/** The segments of one device as disjoint address ranges that grow, shrink, split and join while a trace is undone. */

import type { StateSegments } from '../../../src/allocator/walk/allocator-state.js';
import { growColumn } from '../../../src/allocator/walk/grow-column.js';
import { AddressIndex } from './address-index.js';

/** Whose memory a segment is. */
export interface SegmentOwner {
  /** NaN where unknown. */
  readonly stream: number;
  /** 1 = small pool, 0 = large pool. */
  readonly small: number;
  /** The caller's number of the pool id; 0 = default. */
  readonly pool: number;
  readonly expandable: number;
  /** Sum of {@link INFERRED_POOL} and {@link INFERRED_SMALL}, for values without a source. */
  readonly inferred: number;
}

/** Sees segments as they begin and end; one that changes its extent ends and begins. */
export interface SegmentObserver {
  segmentBegins(segments: SegmentMap, slot: number): void;
  segmentEnds(segments: SegmentMap, slot: number): void;
}

/** Power of two. */
const RECENT_PAGES = 4096;
const PAGE_BYTES = 2 * 1024 * 1024;

export const INFERRED_POOL = 1;
export const INFERRED_SMALL = 2;

/**
 * Columns by slot, public for the walk's inner loop; slots come from {@link at} and stay valid until the next change.
 */
export class SegmentMap {
  address = new Float64Array(256);
  end = new Float64Array(256);
  small = new Uint8Array(256);
  expandable = new Uint8Array(256);
  private stream = new Float64Array(256);
  private pool = new Int32Array(256);
  private inferred = new Uint8Array(256);
  private readonly index = new AddressIndex();
  private readonly unused: number[] = [];
  private slots = 0;
  private readonly observer: SegmentObserver | undefined;
  /**
   * The slot found last for each 2 MiB page (modulo their number): a trainer touches the same few pages over and over.
   */
  private readonly recent = new Int32Array(RECENT_PAGES);

  constructor(observer?: SegmentObserver) {
    this.observer = observer;
  }

  /** The segment that contains `address`, or −1. */
  at(address: number): number {
    const page = (address / PAGE_BYTES) & (RECENT_PAGES - 1);
    const recent = this.recent[page]!;
    // Slots out of use are empty ranges, so whatever the cache holds is checked by this.
    if (address >= this.address[recent]! && address < this.end[recent]!) return recent;
    const slot = this.index.floor(address);
    if (slot < 0 || address >= this.end[slot]!) return -1;
    this.recent[page] = slot;
    return slot;
  }

  /** Whether [start, end) is a range of addresses that no segment reaches into. */
  isVacant(start: number, end: number): boolean {
    const before = this.index.floor(start);
    const behind = this.index.afterCursor();
    if (before >= 0 && this.end[before]! > start) return false;
    return start < end && (behind < 0 || this.address[behind]! >= end);
  }

  /** Adds the vacant range [start, end). */
  add(start: number, end: number, owner: SegmentOwner): void {
    const slot = this.unused.pop() ?? this.slots++;
    if (slot >= this.address.length) this.grow();
    this.address[slot] = start;
    this.end[slot] = end;
    this.stream[slot] = owner.stream;
    this.small[slot] = owner.small;
    this.pool[slot] = owner.pool;
    this.expandable[slot] = owner.expandable;
    this.inferred[slot] = owner.inferred;
    this.index.floor(start);
    this.index.insertAtCursor(start, slot);
    this.observer?.segmentBegins(this, slot);
  }

  /** Takes [start, end), a part of segment `slot`, out of it; what remains on either side stays. */
  cut(slot: number, start: number, end: number): void {
    const oldEnd = this.end[slot]!;
    const owner = this.owner(slot);
    this.observer?.segmentEnds(this, slot);
    const isFromStart = this.address[slot] === start;
    this.end[slot] = start;
    if (isFromStart) {
      this.index.delete(start);
      this.unused.push(slot);
    } else this.observer?.segmentBegins(this, slot);
    if (end < oldEnd) this.add(end, oldEnd, owner);
  }

  /**
   * Adds the vacant range [start, end) of an expandable segment and joins it with the mapped runs it touches: a
   * reservation belongs to one stream and pool, so what touches is of one reservation. `pool` < 0 = unknown;
   * `smallGuess` holds if no run touches.
   */
  addMapped(start: number, end: number, stream: number, pool: number, smallGuess: number): void {
    const inferred = INFERRED_SMALL + (pool < 0 ? INFERRED_POOL : 0);
    this.join(start, end, { stream, small: smallGuess, pool: Math.max(0, pool), expandable: 1, inferred });
  }

  /** {@link addMapped} for a range whose owner is known to the degree of `inferred`. */
  join(start: number, end: number, added: SegmentOwner): void {
    const before = this.index.floor(start);
    const behind = this.index.afterCursor();
    const joinsBefore = before >= 0 && this.end[before] === start && this.mayJoin(before, added);
    const joinsBehind = behind >= 0 && this.address[behind] === end && this.mayJoin(behind, added);
    let from = start;
    let to = end;
    let owner = added;
    if (joinsBehind) {
      const neighbour = this.owner(behind);
      if (neighbour.inferred <= owner.inferred) owner = neighbour;
      to = this.end[behind]!;
      this.cut(behind, end, to);
    }
    if (joinsBefore && (!joinsBehind || this.agrees(before, owner))) {
      const neighbour = this.owner(before);
      if (!joinsBehind || neighbour.inferred < owner.inferred) owner = neighbour;
      from = this.address[before]!;
      this.cut(before, from, start);
    }
    this.add(from, to, owner);
  }

  /** A block of class `small` lives in `slot`. False if the segment is known to be of the other class. */
  confirmSmall(slot: number, small: number): boolean {
    if ((this.inferred[slot]! & INFERRED_SMALL) !== 0) {
      this.small[slot] = small;
      this.inferred[slot] = this.inferred[slot]! - INFERRED_SMALL;
    }
    return this.small[slot] === small;
  }

  /** A copy in ascending order of address; the caller fills `firstBlock`. */
  snapshot(): StateSegments {
    const slots = this.index.slotsInOrder();
    const count = slots.length;
    const pick = <T extends Float64Array | Int32Array | Uint8Array>(to: T, from: T): T => {
      for (let row = 0; row < count; row += 1) to[row] = from[slots[row]!]!;
      return to;
    };
    const address = pick(new Float64Array(count), this.address);
    return {
      count,
      address,
      totalBytes: pick(new Float64Array(count), this.end).map((end, row) => end - address[row]!),
      stream: pick(new Float64Array(count), this.stream),
      small: pick(new Uint8Array(count), this.small),
      pool: pick(new Int32Array(count), this.pool),
      expandable: pick(new Uint8Array(count), this.expandable),
      inferred: pick(new Uint8Array(count), this.inferred).map((bits) => (bits === 0 ? 0 : 1)),
      firstBlock: new Int32Array(count + 1),
    };
  }

  poolOf(slot: number): number {
    return this.pool[slot]!;
  }

  owner(slot: number): SegmentOwner {
    return {
      stream: this.stream[slot]!,
      small: this.small[slot]!,
      pool: this.pool[slot]!,
      expandable: this.expandable[slot]!,
      inferred: this.inferred[slot]!,
    };
  }

  private mayJoin(slot: number, added: SegmentOwner): boolean {
    const known = this.stream[slot]!;
    const streamFits = known === added.stream || Number.isNaN(known) || Number.isNaN(added.stream);
    const poolFits = (added.inferred & INFERRED_POOL) !== 0 || this.pool[slot] === added.pool;
    const classUnknown = ((added.inferred | this.inferred[slot]!) & INFERRED_SMALL) !== 0;
    const classFits = classUnknown || this.small[slot] === added.small;
    return streamFits && poolFits && classFits && this.expandable[slot] === 1;
  }

  private agrees(slot: number, owner: SegmentOwner): boolean {
    if ((this.inferred[slot]! | owner.inferred) !== 0) return true;
    return this.small[slot] === owner.small && this.pool[slot] === owner.pool;
  }

  private grow(): void {
    this.address = growColumn(this.address);
    this.end = growColumn(this.end);
    this.stream = growColumn(this.stream);
    this.small = growColumn(this.small);
    this.pool = growColumn(this.pool);
    this.expandable = growColumn(this.expandable);
    this.inferred = growColumn(this.inferred);
  }
}

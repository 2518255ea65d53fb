/** A driver that grants what the record shows was granted, at the recorded addresses, and refuses the rest. */

import type { PoolId } from '../caching/block.js';
import type { Driver, FreeSegments, Reservation } from '../caching/driver.js';
import { RESERVATION_FACTOR } from '../caching/expandable-segments.js';
import { FREE_COMPLETED, OOM, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP } from '../trace-action-codes.js';
import { type Recording, reservationKey } from './recording.js';
import { OPEN_END_BYTES } from './restore-state.js';

/** How model and record can part. */
export type MismatchKind =
  /** The model puts the block elsewhere. */
  | 'address'
  /** The model reuses a free block, the record shows memory from the driver. */
  | 'reuse_predicted'
  /** The model asks the driver, the record shows a block reused. */
  | 'growth_predicted'
  /** The model asks the driver for another size or another place. */
  | 'growth_differs'
  /** The model runs out of memory where the record does not, or the other way round. */
  | 'oom_predicted'
  | 'oom_not_predicted'
  /** Segments or pages given back by one side only, or in another order. */
  | 'release_differs'
  /** Memory from the driver between two entries that explain none. */
  | 'stray_growth';

/** Above everything a device or a reservation has. */
const UNUSED_ADDRESSES = 2 ** 51;

/** Pairs of segments kept of a replay: each is looked for in the order of all. */
const MOST_PAIRS = 200;

/** Index of the first of `rows`, which ascend, that is at least `row`. */
function lowerBound(rows: readonly number[], row: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows[middle]! < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many of `candidates` were freed before a flush, which frees in its order whatever is left; else all. */
function garbageCount(
  released: readonly number[],
  candidates: readonly number[],
  large: readonly number[],
  small: readonly number[],
): number {
  // A flush frees whatever garbage collection left, so both together are at least all that is free.
  if (large.length + small.length > released.length) return candidates.length;
  const isFlushFrom = (count: number): boolean => {
    const garbage = new Set(candidates.slice(0, count));
    const flushed = [...large.filter((addr) => !garbage.has(addr)), ...small];
    return flushed.every((addr, i) => released[count + i] === addr);
  };
  // Where a flush can begin at a segment, it can begin at the next one too.
  let low = 0;
  let high = candidates.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isFlushFrom(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Thrown through the model, which has changed nothing by then, and caught by the replay. */
export class Parted extends Error {
  readonly kind: MismatchKind;

  constructor(kind: MismatchKind) {
    super(kind);
    this.kind = kind;
  }
}

/** The driver entries before one allocation, and how many of them the model has repeated. */
export class RecordedDriver implements Driver {
  /** Entries repeated as they were recorded. */
  repeated = 0;
  /** Entries of one side only, or in another order. */
  differing = 0;
  /** See `ReplayOutcome`. */
  readonly olderSegments: (readonly [older: number, newer: number])[] = [];
  private readonly recording: Recording;
  private from = 0;
  private to = 0;
  /** The trace has private pools: requests that fail may do so during a capture, which forbids the flush. */
  mayCapture = false;
  /** Rows below are repeated. */
  private cursor = 0;
  private used = new Uint8Array(64);
  /** Rows of what was given back, by address; made when the order first differs. */
  private rowOfRelease: Map<number, number> | null = null;
  /** Nothing more can be given back: what the record still shows as given back, the model has kept. */
  private isLastAttempt = false;
  private unusedAddress = UNUSED_ADDRESSES;
  private isOom = false;
  /** Grants everything: the replay repeats an entry by force. */
  private isForced = false;
  /** Repeats by force that the memory of a row was given back. */
  private readonly release: (row: number) => void;
  /** Completes the free of a row, unless that is done. */
  private readonly complete: (row: number) => void;

  constructor(recording: Recording, release: (row: number) => void, complete: (row: number) => void) {
    this.recording = recording;
    this.release = release;
    this.complete = complete;
  }

  /** Rows `from` to `to` (exclusive) are the driver entries before the one at `to`. */
  begin(from: number, to: number): void {
    this.from = from;
    this.to = to;
    const { action } = this.recording.events;
    if (to - from > this.used.length) this.used = new Uint8Array(2 * (to - from));
    for (let i = from; i < to; i += 1) this.used[i - from] = action[i] === FREE_COMPLETED ? 1 : 0;
    this.cursor = from;
    this.rowOfRelease = null;
    this.isLastAttempt = false;
    this.isOom = to < this.recording.events.count && action[to] === OOM;
  }

  /** The next row not yet repeated, −1 if none. */
  next(): number {
    const { from, to, used } = this;
    while (this.cursor < to && used[this.cursor - from] !== 0) this.cursor += 1;
    return this.cursor < to ? this.cursor : -1;
  }

  use(row: number): void {
    this.used[row - this.from] = 1;
  }

  isRelease(row: number): boolean {
    const code = this.recording.events.action[row]!;
    return code === SEGMENT_FREE || code === SEGMENT_UNMAP;
  }

  /** The model gave something back; compares with the record. */
  released(code: number, addr: number, bytes: number): void {
    const { action, address, sizeBytes } = this.recording.events;
    const next = this.next();
    if (next >= 0 && action[next] === code && address[next] === addr && sizeBytes[next] === bytes) {
      this.use(next);
      this.repeated += 1;
      return;
    }
    this.differing += 1;
    if (next >= 0 && action[next] === code && sizeBytes[next] === bytes)
      this.olderSegments.push([address[next]!, addr]);
    const row = this.releasesByAddress().get(addr);
    if (row === undefined || this.used[row - this.from] !== 0) return;
    if (action[row] === code && sizeBytes[row] === bytes) this.use(row);
  }

  /** The record takes one of two segments of the same size first: it is the older one. */
  preferred(older: number, newer: number): void {
    if (this.olderSegments.length < MOST_PAIRS) this.olderSegments.push([older, newer]);
  }

  private releasesByAddress(): ReadonlyMap<number, number> {
    if (this.rowOfRelease === null) {
      this.rowOfRelease = new Map();
      for (let row = this.to - 1; row >= this.from; row -= 1)
        if (this.isRelease(row)) this.rowOfRelease.set(this.recording.events.address[row]!, row);
    }
    return this.rowOfRelease;
  }

  /** What the record shows as given back and the model has kept, is given back by force. */
  forceReleases(): void {
    for (let row = this.next(); row >= 0 && this.isRelease(row); row = this.next()) {
      this.use(row);
      this.differing += 1;
      this.release(row);
    }
  }

  /**
   * A flush that gives nothing back leaves no entry, so it happened unless a capture may have been in progress: then
   * what the model would give back decides nothing.
   */
  mayFlush(): boolean {
    return this.next() >= 0 || !this.mayCapture;
  }

  /** Where a capture may be in progress, which waits for nothing, only what was recorded as completed is. */
  mayWait(): boolean {
    if (!this.mayCapture) return true;
    for (let row = this.from; row < this.to; row += 1)
      if (this.recording.events.action[row] === FREE_COMPLETED) this.complete(row);
    return false;
  }

  /**
   * What is freed first and does not belong to a flush. A flush frees all that is free in its order, behind a wait
   * whose completions the record shows; what comes before either is garbage.
   */
  garbage(free: () => FreeSegments): readonly number[] {
    const { action, address } = this.recording.events;
    const released: number[] = [];
    const first = this.next();
    if (first < 0) return released;
    let i = first;
    for (; i < this.to && action[i] === SEGMENT_FREE; i += 1) released.push(address[i]!);
    if (released.length === 0) return released;
    const { large, small, waits } = free();
    const known = new Set(large);
    const most = released.findIndex((addr) => !known.has(addr));
    const candidates = most < 0 ? released : released.slice(0, most);
    const isBeforeWait = i < this.to && action[i] === FREE_COMPLETED;
    const isWaiting = action.subarray(this.from, this.to).includes(FREE_COMPLETED);
    const count =
      isBeforeWait || (waits && !isWaiting) ? candidates.length : garbageCount(released, candidates, large, small);
    return candidates.slice(0, count);
  }

  lastAttempt(): void {
    this.isLastAttempt = true;
  }

  malloc(bytes: number): number | null {
    const row = this.growth(SEGMENT_ALLOC);
    if (row < 0) return null;
    const { address, sizeBytes } = this.recording.events;
    if (sizeBytes[row] !== bytes) throw new Parted('growth_differs');
    this.use(row);
    this.repeated += 1;
    return address[row]!;
  }

  map(addr: number, bytes: number): boolean {
    if (this.isForced) return true;
    const row = this.growth(SEGMENT_MAP);
    if (row < 0) return false;
    const { address, sizeBytes } = this.recording.events;
    if (address[row] !== addr || sizeBytes[row] !== bytes) throw new Parted('growth_differs');
    this.use(row);
    this.repeated += 1;
    return true;
  }

  /** What `act` asks for is granted, whatever the record shows next. */
  force<T>(act: () => T): T {
    this.isForced = true;
    try {
      return act();
    } finally {
      this.isForced = false;
    }
  }

  free(): void {}

  unmap(): void {}

  /**
   * A reservation is mapped from its start, so that is where the next pages of its stream, pool and size class are. A
   * request that fails leaves its reservation behind, without pages: those of the next request.
   */
  reserve(bytes: number, { stream, poolId, kind }: Reservation): number {
    const pool = this.poolNumber(poolId);
    const rows = this.recording.mapRows.get(reservationKey(stream, pool, kind === 'small' ? 1 : 0)) ?? [];
    const row = rows[lowerBound(rows, this.from)];
    if (row !== undefined) return this.recording.events.address[row]!;
    // Nothing is ever mapped there; it must only be disjoint from all other ranges.
    this.unusedAddress += bytes;
    return this.unusedAddress - bytes;
  }

  private poolNumber([major, minor]: PoolId): number {
    if (major === 0 && minor === 0) return 0;
    const { poolId, poolOf, start } = this.recording;
    for (const pool of new Set([...poolOf.values(), ...start.segments.pool])) {
      const id = poolId(pool);
      if (id[0] === major && id[1] === minor) return pool;
    }
    return -1;
  }

  memory() {
    const bytes = Math.min(OPEN_END_BYTES, this.recording.reservationBytes);
    return { totalBytes: bytes / RESERVATION_FACTOR, freeBytes: 0, processBytes: 0 };
  }

  /** The row that grants a request of this kind; −1: refused, as recorded. */
  private growth(code: number): number {
    if (this.isLastAttempt) this.forceReleases();
    const row = this.next();
    if (row < 0) {
      if (this.isOom) return -1;
      throw new Parted('growth_predicted');
    }
    if (this.isRelease(row)) return -1;
    if (this.recording.events.action[row] !== code) throw new Parted('growth_differs');
    return row;
  }
}

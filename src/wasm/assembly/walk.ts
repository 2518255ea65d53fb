/**
 * The state of PyTorch's CUDA caching allocator at any entry of a trace, by undoing the trace from the final state of
 * the snapshot backwards, and from it the lifetimes of blocks and segments. A recording rarely begins with an empty
 * allocator, and a ring buffer forgets its beginning, but the final blocks are always there. Rules: torch
 * `c10/cuda/CUDACachingAllocator.cpp` (`malloc`, `free_block`, `should_split`, `release_cached_blocks`); a trace entry
 * carries the *requested* size, the walk accounts for *actual* sizes. O(log live) per entry; memory is that of what is
 * live.
 *
 * **True sizes.** A block of the small pool or an expandable segment has exactly its rounded size; a block live at the
 * end has the size of the snapshot. Any other was cut with 0 ≤ r ≤ 1 MiB left on it. As the large pool never holds a
 * free block of ≤ 1 MiB, the distance g from its rounded end to the next active block or the segment's end is at every
 * moment r or > r + 1 MiB. So g is looked at when the block is entered and whenever another is entered right behind it:
 * g ≤ 1 MiB proves r = g; if that never happens down to its alloc, r = 0 is proved. Only blocks live before the first
 * entry can stay uncertain: r = 0 is assumed, and bounds are kept. Totals and peaks are corrected when r is found,
 * however late (see `maximum.ts`), so the numbers are exact in one pass.
 */
import { Lives, NEVER } from './lives';
import { RevisableMaximum } from './maximum';
import { grown, MAX_SAFE, NULL } from './memory';
import { Ordered } from './ordered';
import { Pools } from './pools';
import { SegmentRows } from './rows';
import { confirmSmall, INFERRED_POOL, INFERRED_SMALL, Owner, Segments } from './segments';
import {
  ALLOC,
  CHUNK,
  CHUNK_BITS,
  COMPLETES,
  FREE_COMPLETED,
  FREE_REQUESTED,
  LEFT_OUT,
  SEGMENT_ALLOC,
  SEGMENT_FREE,
  SEGMENT_MAP,
  SEGMENT_UNMAP,
  Trace,
} from './trace';

const MIB: i64 = 1 << 20;
const MIN_BLOCK_BYTES: i64 = 512;
/** Rounded sizes up to this live in the small pool. */
const SMALL_BYTES: i64 = MIB;
const SMALL_SEGMENT_BYTES: i64 = 2 * MIB;
/** A remainder in a cudaMalloc segment of the large pool is cut off only when it exceeds this. */
const LARGE_REMAINDER_BYTES: i64 = MIB;

/** States of a block. */
export const ALLOCATED: u8 = 0;
export const PENDING: u8 = 1;

/** Index in ENUMS.stack_origin. */
export const FROM_NOTHING: u8 = 0;
export const FROM_FINAL_BLOCK: u8 = 1;
export const FROM_ALLOC_EVENT: u8 = 2;
export const FROM_FREE_EVENT: u8 = 3;

/** How the true size of a block is found while the walk is inside its life. */
const SIZE_CERTAIN: u8 = 0;
/** Large cudaMalloc pool: the leftover is the range behind it, if that is ≤ 1 MiB. */
const SIZE_BY_REMAINDER: u8 = 1;
/** At least `max_split_size`: never split, so it reaches to the next active block or the segment's end. */
const SIZE_UNSPLIT: u8 = 2;
/** cudaMalloc segment under expandable_segments:True: either rule, depending on when the setting was changed. */
const SIZE_BY_EITHER: u8 = 3;

/** The dump reads segments and traces one after the other; other threads get in a few entries between. */
const TAIL_SKEW_EVENTS: i32 = 16;

export class Block {
  address: i64 = 0;
  size: i64 = 0;
  least: i64 = 0;
  most: i64 = 0;
  /** −1 = not known. */
  requested: i64 = -1;
  /** Entry that ends it. */
  toSeq: i32 = NEVER;
  /** Entry that requests its free. */
  pendingSeq: i32 = NEVER;
  stack: i32 = -1;
  /** Term of the maximum while the size is uncertain. */
  term: i32 = -1;
  state: u8 = ALLOCATED;
  stackOrigin: u8 = FROM_NOTHING;
  sizing: u8 = SIZE_CERTAIN;
}

/** What the walk must know of the allocator. */
export class Settings {
  expandableSegments: bool = false;
  /** MAX_SAFE = unlimited. */
  maxSplitBytes: i64 = MAX_SAFE;
  maxNonSplitRoundingBytes: i64 = MAX_SAFE;
  largeSegmentBytes: i64 = 20 * MIB;
  /** For sizes from 1 MiB, 2 MiB, … 32 GiB; 0 or 1 = no power-of-two rounding. */
  roundupPower2Divisions: StaticArray<i32> = new StaticArray<i32>(16);
  /** Some division is above 1. */
  isRounded: bool = false;

  /** The block size that a request asks for: `round_size`. */
  roundSize(requested: i64): i64 {
    if (requested < MIN_BLOCK_BYTES) return MIN_BLOCK_BYTES;
    if (this.isRounded) {
      const exponent = requested < MIB ? 0 : min(15, 43 - i32(clz(requested)));
      const divisions = this.roundupPower2Divisions[exponent];
      if (divisions > 1 && requested > MIN_BLOCK_BYTES * divisions) {
        const power: i64 = i64(1) << (63 - clz(requested));
        if (power === requested) return power;
        const unit = f64(power) / f64(divisions);
        return i64(Math.ceil(f64(requested) / unit) * unit);
      }
    }
    return (requested + MIN_BLOCK_BYTES - 1) & ~(MIN_BLOCK_BYTES - 1);
  }
}

export class Walk {
  /** Mapped or cudaMalloc'ed bytes now. */
  reserved: i64 = 0;
  /** Actual bytes of allocated and pending blocks now. */
  active: i64 = 0;
  /** The pending part of {@link active}. */
  pending: i64 = 0;
  violations: i32 = 0;
  /** Those among the last 16 entries: a dump that is not atomic explains a few. */
  tailViolations: i32 = 0;
  /** Frees without a completion that were taken as completed. */
  impliedCompletions: i32 = 0;
  peakReserved: i64 = i64.MIN_VALUE;
  peakReservedSeq: i32 = -1;
  peakActive: RevisableMaximum = new RevisableMaximum();
  /** Blocks that were there before the first entry, and what their bounds leave open. */
  uncertainBlocks: i32 = 0;
  uncertainBytes: i64 = 0;

  segments: Segments = new Segments();
  blocks: Ordered<Block> = new Ordered<Block>();
  /** The live block at each address of the trace. */
  private blockAt: StaticArray<Block | null> = new StaticArray<Block | null>(256);
  private unused: Array<Block> = [];

  requestsRecorded: bool = true;
  completionsRecorded: bool = true;
  private lives: Lives = new Lives(0, false);
  /** Entries name other pools than the default one; else their pools are not looked at. */
  isPooled: bool = false;

  constructor(
    private trace: Trace,
    private settings: Settings,
    private pools: Pools,
    private rows: SegmentRows,
  ) {}

  // ---- the final state

  addFinalSegment(start: i64, bytes: i64, owner: Owner): void {
    if (!this.segments.isVacant(start, start + bytes)) {
      this.violations++;
      return;
    }
    this.segments.add(start, start + bytes, owner);
    this.reserved += bytes;
  }

  addFinalBlock(address: i64, size: i64, requested: i64, state: u8, stack: i32): void {
    const segment = this.segments.at(address);
    const before = this.blocks.floor(address);
    const behind = this.blocks.next();
    const isOutside = segment == null || address + size > segment.end;
    const overlaps =
      (before != null && before.address + before.size > address) || (behind != null && behind.address < address + size);
    if (isOutside || size <= 0 || overlaps) {
      this.violations++;
      return;
    }
    const block = this.newBlock(address, size, requested, state);
    block.stack = stack;
    block.stackOrigin = stack < 0 ? FROM_NOTHING : FROM_FINAL_BLOCK;
    this.put(this.trace.addresses.of(address), block);
    this.blocks.insert(address, block);
  }

  /**
   * Of a trace without completions: whether any request is of a block that is not pending in the dump. Then completions
   * were left out, else they are all outstanding; a ring of few entries often holds a request alone.
   */
  hasLoneRequests(): bool {
    const trace = this.trace;
    for (let seq = 0; seq < trace.count; seq++) {
      const chunk = trace.chunk(seq >> CHUNK_BITS);
      const at = seq & (CHUNK - 1);
      if (chunk.action[at] !== FREE_REQUESTED) continue;
      const id = chunk.address.at(at);
      const block = this.live(id);
      const isPending = block != null && block.state === PENDING;
      if (!isPending && !(trace.addresses.keys[id] === NULL && this.pending > 0)) return true;
    }
    return false;
  }

  // ---- entries

  /** Undoes the whole trace, and adds the lives that it finds. */
  back(lives: Lives): void {
    const trace = this.trace;
    this.lives = lives;
    const lastSeq = trace.count - 1;
    this.isPooled = this.pools.isNamedBy(trace.shapes);
    for (let index = lastSeq >> CHUNK_BITS; index >= 0 && lastSeq >= 0; index--) {
      const chunk = trace.chunk(index);
      const first = index << CHUNK_BITS;
      for (let at = min(CHUNK - 1, lastSeq - first); at >= 0; at--) {
        const seq = first + at;
        this.peakActive.record(this.active, seq);
        if (this.reserved >= this.peakReserved) {
          this.peakReserved = this.reserved;
          this.peakReservedSeq = seq;
        }
        const action = chunk.action[at];
        const isApplied =
          action <= FREE_COMPLETED
            ? this.undoBlock(action, seq, chunk.address.at(at), chunk.shape.at(at), chunk.stack.at(at))
            : action <= SEGMENT_UNMAP && this.undoSegment(action, seq, chunk.address.at(at), chunk.shape.at(at));
        if (!isApplied) trace.mark(seq, LEFT_OUT);
      }
    }
    this.finish();
  }

  private undoBlock(action: u8, seq: i32, id: i32, shape: i32, stack: i32): bool {
    const address = this.trace.addresses.keys[id];
    const requested = this.trace.shapes.size[shape];
    if (requested < 0 || requested > MAX_SAFE) return this.violate(seq);
    if (action === ALLOC) return this.undoAlloc(seq, id, address, requested, stack);
    const block = this.live(id);
    if (action === FREE_COMPLETED) {
      const state = this.requestsRecorded ? PENDING : ALLOCATED;
      const freed = this.undoFree(seq, id, address, requested, stack, state);
      if (freed == null) return false;
      freed.toSeq = seq;
      return true;
    }
    if (block != null) {
      if (block.state !== PENDING) return this.violate(seq);
      block.state = ALLOCATED;
      this.pending -= block.size;
      block.pendingSeq = seq;
      // Torch completes a deferred free in a later allocation, with the stack of that one.
      if (stack >= 0 && (block.stackOrigin === FROM_FREE_EVENT || block.stack < 0)) {
        block.stack = stack;
        block.stackOrigin = FROM_FREE_EVENT;
      }
      return true;
    }
    this.impliedCompletions++;
    if (this.completionsRecorded) this.violate(seq);
    const freed = this.undoFree(seq, id, address, requested, stack, ALLOCATED);
    if (freed == null) return false;
    freed.toSeq = seq;
    freed.pendingSeq = seq;
    this.trace.mark(seq, COMPLETES);
    return true;
  }

  private undoAlloc(seq: i32, id: i32, address: i64, requested: i64, stack: i32): bool {
    const segment = this.segments.of(id, address);
    const block = this.live(id);
    if (segment == null || block == null) return this.violate(seq);
    this.blockAt[id] = null;
    this.blocks.delete(address);
    const rounded = this.settings.roundSize(requested);
    const isPending = block.state === PENDING;
    if (isPending && this.requestsRecorded) this.violate(seq);
    else if (rounded > block.most || (block.requested >= 0 && block.requested !== requested)) this.violate(seq);
    else if (!confirmSmall(segment, rounded <= SMALL_BYTES ? 1 : 0)) this.violate(seq);
    this.settleAtAlloc(block);
    this.active -= block.size;
    if (isPending) this.pending -= block.size;
    // The entry's own stack goes before the block's; a recording with context="state" has only the block's.
    if (stack >= 0) {
      block.stack = stack;
      block.stackOrigin = FROM_ALLOC_EVENT;
    }
    block.requested = requested;
    this.lives.add(block, seq, segment.pool, block.most - block.least);
    this.unused.push(block);
    return true;
  }

  /** The block that the free ends; null if the entry is left out. */
  private undoFree(seq: i32, id: i32, address: i64, requested: i64, stack: i32, state: u8): Block | null {
    const segment = this.segments.of(id, address);
    const rounded = this.settings.roundSize(requested);
    if (segment == null || this.live(id) != null) {
      this.violate(seq);
      return null;
    }
    const before = this.blocks.floor(address);
    const behind = this.blocks.next();
    const limit = behind != null && behind.address < segment.end ? behind.address : segment.end;
    if (address + rounded > limit || (before != null && before.address + before.least > address)) {
      this.violate(seq);
      return null;
    }
    const block = this.newBlock(address, rounded, requested, state);
    block.stack = stack;
    block.stackOrigin = stack < 0 ? FROM_NOTHING : FROM_FREE_EVENT;
    this.put(id, block);
    this.blocks.insert(address, block);
    if (!confirmSmall(segment, rounded <= SMALL_BYTES ? 1 : 0)) this.violate(seq);
    if (segment.small === 0 && segment.expandable === 0) this.openSize(block, limit);
    // A block of another segment ends where that one ends, and has been seen so.
    if (before != null && before.sizing !== SIZE_CERTAIN && before.address >= segment.address)
      this.narrow(before, address);
    return block;
  }

  private undoSegment(action: u8, seq: i32, id: i32, shape: i32): bool {
    const segments = this.segments;
    const address = this.trace.addresses.keys[id];
    const bytes = this.trace.shapes.size[shape];
    if (bytes < 0 || bytes > MAX_SAFE) return this.violate(seq);
    segments.seq = seq;
    const end = address + bytes;
    if (action === SEGMENT_ALLOC || action === SEGMENT_MAP) {
      const segment = segments.at(address);
      if (segment == null || end > segment.end) return this.violate(seq);
      if (bytes === 0) return true;
      const before = this.blocks.floor(address);
      const behind = this.blocks.next();
      if (before != null && before.address + before.size > address) return this.violate(seq);
      if (behind != null && behind.address < end) return this.violate(seq);
      if (action === SEGMENT_ALLOC && (segment.address !== address || segment.end !== end)) return this.violate(seq);
      segments.cut(segment, address, end);
      this.reserved -= bytes;
    } else {
      if (bytes === 0) return true;
      if (address < 0 || !segments.isVacant(address, end)) return this.violate(seq);
      const stream = this.trace.shapes.stream[shape];
      const pool = this.isPooled ? this.pools.toWalk(this.trace.shapes.pool[shape]) : -1;
      const inferred = pool < 0 ? INFERRED_POOL : 0;
      if (action === SEGMENT_FREE) {
        // Segments of the large pool have 10 MiB or more, so the size decides the class.
        const small: u8 = bytes === SMALL_SEGMENT_BYTES ? 1 : 0;
        segments.add(address, end, new Owner(stream, small, max(0, pool), 0, inferred));
      } else {
        // Units of the large pool are 20 MiB, those of the small pool 2 MiB.
        const small: u8 = bytes % this.settings.largeSegmentBytes === 0 ? 0 : 1;
        segments.join(address, end, new Owner(stream, small, max(0, pool), 1, inferred + INFERRED_SMALL));
      }
      this.reserved += bytes;
    }
    while (segments.ended.length > 0) this.rows.add(segments.ended.pop(), seq);
    return true;
  }

  /** What is left was there before the first entry. */
  private finish(): void {
    const blocks = this.blocks.descending();
    for (let i = 0; i < blocks.length; i++) {
      const block = blocks[i];
      if (block.most > block.least) {
        this.uncertainBlocks++;
        this.uncertainBytes += block.most - block.least;
      }
      const segment = this.segments.at(block.address)!;
      if (block.state === PENDING) {
        block.pendingSeq = -1;
        // Of its free the trace has only the completion, see undoBlock.
        if (block.stackOrigin === FROM_FREE_EVENT && !this.lives.freesCarryStacks) {
          block.stack = -1;
          block.stackOrigin = FROM_NOTHING;
        }
      }
      this.lives.add(block, -1, segment.pool, block.most - block.least);
      this.lives.before(block, segment.stream);
    }
    const segments = this.segments.descending();
    for (let i = 0; i < segments.length; i++) this.rows.add(segments[i], -1);
    this.peakActive.result();
  }

  // ---- sizes

  private openSize(block: Block, limit: i64): void {
    const settings = this.settings;
    let most = LARGE_REMAINDER_BYTES;
    if (settings.expandableSegments) block.sizing = SIZE_BY_EITHER;
    else if (block.least >= settings.maxSplitBytes) {
      block.sizing = SIZE_UNSPLIT;
      // A request is refused a block that exceeds it by this or more.
      most = settings.maxNonSplitRoundingBytes - MIN_BLOCK_BYTES;
    } else block.sizing = SIZE_BY_REMAINDER;
    block.most = block.least + most;
    block.term = this.peakActive.open();
    this.narrow(block, limit);
  }

  /** The next active block behind an open block, or its segment's end, is seen at `limit`. */
  private narrow(block: Block, limit: i64): void {
    const gap = limit - block.address - block.least;
    let most = block.most - block.least;
    if (block.sizing === SIZE_BY_REMAINDER) {
      if (gap <= LARGE_REMAINDER_BYTES) {
        this.revise(block, gap);
        this.settle(block);
        return;
      }
      most = min(most, gap - LARGE_REMAINDER_BYTES - MIN_BLOCK_BYTES);
    } else {
      const fits = gap <= most;
      most = min(most, gap);
      if (block.sizing === SIZE_UNSPLIT && fits) this.revise(block, gap - (block.size - block.least));
    }
    block.most = block.least + most;
    if (most === 0) this.settle(block);
  }

  private revise(block: Block, delta: i64): void {
    if (delta === 0) return;
    block.size += delta;
    this.active += delta;
    if (block.state === PENDING) this.pending += delta;
    this.peakActive.revise(block.term, delta);
  }

  /** The size is certain from here on. */
  private settle(block: Block): void {
    block.least = block.size;
    block.most = block.size;
    block.sizing = SIZE_CERTAIN;
    this.peakActive.close(block.term);
  }

  /**
   * At its alloc a block is next to what it was cut from: what is not proved to be left on it by then was split off.
   */
  private settleAtAlloc(block: Block): void {
    if (block.sizing === SIZE_CERTAIN) return;
    if (block.sizing === SIZE_BY_EITHER) this.peakActive.close(block.term);
    else this.settle(block);
  }

  // ---- blocks

  private live(id: i32): Block | null {
    return id < this.blockAt.length ? this.blockAt[id] : null;
  }

  private put(id: i32, block: Block): void {
    if (id >= this.blockAt.length) this.blockAt = grown<Block | null>(this.blockAt, id + 1);
    this.blockAt[id] = block;
  }

  private newBlock(address: i64, size: i64, requested: i64, state: u8): Block {
    const block = this.unused.length > 0 ? this.unused.pop() : new Block();
    block.address = address;
    block.size = size;
    block.least = size;
    block.most = size;
    block.requested = requested;
    block.toSeq = NEVER;
    block.state = state;
    block.sizing = SIZE_CERTAIN;
    block.pendingSeq = NEVER;
    this.active += size;
    if (state === PENDING) this.pending += size;
    return block;
  }

  /** False: the entry is left out. */
  private violate(seq: i32): bool {
    this.violations++;
    if (seq > this.trace.count - 1 - TAIL_SKEW_EVENTS) this.tailViolations++;
    return false;
  }
}

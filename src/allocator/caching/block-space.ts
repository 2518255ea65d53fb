/**
 * Blocks of segments and the sets of free ones: cutting, joining, and the bookkeeping that goes with it. Knows nothing
 * of when and why; upstream these are `try_merge_blocks` and the pool insertions and erasures of
 * `CUDACachingAllocator.cpp`.
 */

import type { TieBreak } from '../variants.js';
import { Block, isExpandable, isSplit, type Pool, type Segment } from './block.js';
import { FreeSet } from './free-set.js';
import { type AllocatorStatistics, move } from './statistics.js';

export class BlockSpace<S> {
  readonly statistics: AllocatorStatistics;
  private readonly tieBreak: TieBreak;
  private blocksMade = 0;

  constructor(statistics: AllocatorStatistics, tieBreak: TieBreak) {
    this.statistics = statistics;
    this.tieBreak = tieBreak;
  }

  makeBlock(segment: Segment<S>, addr: number, sizeBytes: number, mapped: boolean): Block<S> {
    this.blocksMade += 1;
    return new Block(segment, addr, sizeBytes, mapped, this.blocksMade);
  }

  /** A mapped inactive block, linked with its neighbours, becomes available. */
  putFree(block: Block<S>): void {
    const { segment } = block;
    const { pool } = segment;
    const set = segment.freeSet ?? this.freeSetOf(segment);
    block.tie =
      this.tieBreak === 'address'
        ? block.addr
        : this.tieBreak === 'block_counter'
          ? block.counter
          : block.segment.counter;
    block.gcBase = pool.calls;
    set.insert(block);
    this.countInactive(block, 1);
  }

  dropFree(block: Block<S>): void {
    block.segment.freeSet!.remove(block);
    this.countInactive(block, -1);
  }

  private freeSetOf(segment: Segment<S>): FreeSet<Block<S>> {
    const { pool, stream } = segment;
    let set = pool.freeSets.get(stream);
    if (set === undefined) {
      set = new FreeSet();
      pool.freeSets.set(stream, set);
    }
    segment.freeSet = set;
    return set;
  }

  /** Takes the block at the set's cursor. */
  takeCurrent(set: FreeSet<Block<S>>): Block<S> {
    const block = set.takeCurrent();
    this.countInactive(block, -1);
    return block;
  }

  putUnmapped(block: Block<S>): void {
    const { pool, stream } = block.segment;
    const ranges = pool.unmapped.get(stream);
    if (ranges === undefined) {
      pool.unmapped.set(stream, [block]);
      return;
    }
    let at = ranges.length;
    while (at > 0 && ranges[at - 1]!.addr > block.addr) at -= 1;
    ranges.splice(at, 0, block);
  }

  dropUnmapped(block: Block<S>): void {
    const { pool, stream } = block.segment;
    const ranges = pool.unmapped.get(stream)!;
    ranges.splice(ranges.indexOf(block), 1);
  }

  /**
   * Cuts `bytes` off the front of a block that is in no set. The front is a new object, the rest stays the old one, as
   * in torch.
   */
  splitFront(block: Block<S>, bytes: number): Block<S> {
    const front = this.makeBlock(block.segment, block.addr, bytes, block.mapped);
    front.prev = block.prev;
    front.next = block;
    if (front.prev === null) block.segment.first = front;
    else front.prev.next = front;
    block.prev = front;
    block.addr += bytes;
    block.sizeBytes -= bytes;
    front.segmentStack = block.segmentStack;
    block.segmentStack = null;
    return front;
  }

  /** Cuts everything beyond `bytes` off a block that is in no set; the rear is the new object. */
  splitRear(block: Block<S>, bytes: number): Block<S> {
    const rear = this.makeBlock(block.segment, block.addr + bytes, block.sizeBytes - bytes, block.mapped);
    rear.prev = block;
    rear.next = block.next;
    if (rear.next !== null) rear.next.prev = rear;
    block.next = rear;
    block.sizeBytes = bytes;
    return rear;
  }

  /** Joins an inactive block, which is in no set, with its inactive neighbours of the same kind; it survives. */
  merge(block: Block<S>): void {
    const { prev, next } = block;
    if (prev !== null && prev.state === 'inactive' && prev.mapped === block.mapped) {
      this.dropFromSet(prev);
      block.addr = prev.addr;
      block.sizeBytes += prev.sizeBytes;
      block.segmentStack = prev.segmentStack;
      block.prev = prev.prev;
      if (block.prev === null) block.segment.first = block;
      else block.prev.next = block;
    }
    if (next !== null && next.state === 'inactive' && next.mapped === block.mapped) {
      this.dropFromSet(next);
      block.sizeBytes += next.sizeBytes;
      block.next = next.next;
      if (block.next !== null) block.next.prev = block;
    }
  }

  private dropFromSet(block: Block<S>): void {
    if (block.mapped) this.dropFree(block);
    else this.dropUnmapped(block);
  }

  /**
   * `inactive_split`: free blocks with a neighbour, expandable ones excepted. A free block's neighbours come and go
   * only through operations that take it out of its set, so adding and removing balance.
   */
  private countInactive(block: Block<S>, sign: 1 | -1): void {
    if (!isSplit(block) || isExpandable(block)) return;
    move(this.statistics.inactiveSplit, sign);
    move(this.statistics.inactiveSplitBytes, sign * block.sizeBytes);
  }
}

/** The sets of a pool's free blocks in torch's order: streams ascending, each by size and tie-break. */
export function setsInOrder<S>(pool: Pool<S>): FreeSet<Block<S>>[] {
  return [...pool.freeSets].sort(([a], [b]) => a - b).map(([, set]) => set);
}

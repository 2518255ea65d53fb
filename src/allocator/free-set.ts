/** Ordered set of free blocks: torch's `std::set<Block*, Comparison>` restricted to one stream of one pool. */
import { MbfError } from '../model/errors.js';

/** The sorting key: size first, then whatever this torch version breaks ties by (the address up to 2.11). */
export interface FreeSetItem {
  readonly sizeBytes: number;
  readonly tie: number;
}

/**
 * A sorted array with binary search: free sets of real runs hold 10^2 to 10^4 blocks, where moving pointers on insertion costs less
 * than the nodes of a tree. An item's key must not change while it is in the set.
 */
export class FreeSet<T extends FreeSetItem> {
  private readonly items: T[] = [];

  get size(): number {
    return this.items.length;
  }

  /** In key order. */
  values(): readonly T[] {
    return this.items;
  }

  /** Index of the first item with key ≥ (`sizeBytes`, `tie`). */
  private lowerBound(sizeBytes: number, tie: number): number {
    const items = this.items;
    let low = 0;
    let high = items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const item = items[middle]!;
      if (item.sizeBytes < sizeBytes || (item.sizeBytes === sizeBytes && item.tie < tie)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  insert(item: T): void {
    this.items.splice(this.lowerBound(item.sizeBytes, item.tie), 0, item);
  }

  /** Throws (our bug) if the item is not in the set. */
  remove(item: T): void {
    const index = this.lowerBound(item.sizeBytes, item.tie);
    if (this.items[index] !== item)
      throw new MbfError('MBF9001', 'allocator model: a free block is missing from its free set');
    this.items.splice(index, 1);
  }

  /** Removes and returns the best fit: the first item of at least `sizeBytes`. */
  takeAtLeast(sizeBytes: number): T | undefined {
    const index = this.lowerBound(sizeBytes, Number.NEGATIVE_INFINITY);
    return index < this.items.length ? this.items.splice(index, 1)[0] : undefined;
  }

  /** Removes and returns, in key order, the items that satisfy `wanted`. */
  takeWhere(wanted: (item: T) => boolean): T[] {
    const taken: T[] = [];
    let kept = 0;
    for (const item of this.items) {
      if (wanted(item)) taken.push(item);
      else this.items[kept++] = item;
    }
    this.items.length = kept;
    return taken;
  }
}

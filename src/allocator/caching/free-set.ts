/** Ordered set of free blocks: torch's `std::set<Block*, Comparison>` restricted to one stream of one pool. */
import { MbfError } from '../../model/errors.js';

/** The sorting key: size, then whatever this torch version breaks ties by, then the address. */
export interface FreeSetItem {
  readonly sizeBytes: number;
  readonly tie: number;
  readonly addr: number;
}

/** A full chunk is split in two. Half a chunk is moved in less time than one cache miss of a tree node takes. */
const CHUNK_ITEMS = 16;

/** Consecutive items with their keys in parallel arrays: a search reads typed arrays and touches no block. */
class Chunk<T> {
  readonly sizes = new Float64Array(CHUNK_ITEMS);
  readonly ties = new Float64Array(CHUNK_ITEMS);
  readonly items: (T | undefined)[] = new Array<T | undefined>(CHUNK_ITEMS).fill(undefined);
  length = 0;
}

/**
 * A sorted list of chunks, two binary searches per operation: sets of 10 blocks and of 10^5 cost nearly the same, while
 * one sorted array moves half its pointers on every insertion. An item's key must not change while it is in the set.
 *
 * `seek` sets the set's one cursor, `current`, `advance`, `retreat` and `takeCurrent` use it; any change of the set
 * invalidates it.
 */
export class FreeSet<T extends FreeSetItem> {
  private readonly chunks: Chunk<T>[] = [];
  /** An emptied chunk, kept for the next one: small sets empty and fill all the time. */
  private spare: Chunk<T> | null = null;
  private chunkAt = 0;
  private itemAt = 0;

  get size(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  }

  /** In key order. The set must not change meanwhile. */
  *values(): Generator<T> {
    for (const chunk of this.chunks) for (let i = 0; i < chunk.length; i += 1) yield chunk.items[i]!;
  }

  /** Cursor to the first item of at least `sizeBytes`; false if there is none. */
  seek(sizeBytes: number): boolean {
    return this.lowerBound(sizeBytes, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY);
  }

  /** The item at the cursor. */
  current(): T {
    return this.chunks[this.chunkAt]!.items[this.itemAt]!;
  }

  /** The item after the cursor, which stays. */
  peekNext(): T | undefined {
    const chunk = this.chunks[this.chunkAt]!;
    if (this.itemAt + 1 < chunk.length) return chunk.items[this.itemAt + 1];
    return this.chunks[this.chunkAt + 1]?.items[0];
  }

  /** Moves the cursor on; false, and no move, at the end. */
  advance(): boolean {
    if (this.itemAt + 1 < this.chunks[this.chunkAt]!.length) {
      this.itemAt += 1;
      return true;
    }
    if (this.chunkAt + 1 >= this.chunks.length) return false;
    this.chunkAt += 1;
    this.itemAt = 0;
    return true;
  }

  /** Moves the cursor back; false, and no move, at the beginning. After a `seek` that failed: to the last item. */
  retreat(): boolean {
    if (this.itemAt > 0) {
      this.itemAt -= 1;
      return true;
    }
    if (this.chunkAt === 0) return false;
    this.chunkAt -= 1;
    this.itemAt = this.chunks[this.chunkAt]!.length - 1;
    return true;
  }

  /** Removes and returns the item at the cursor. */
  takeCurrent(): T {
    const item = this.current();
    this.removeAt(this.chunkAt, this.itemAt);
    return item;
  }

  insert(item: T): void {
    const { sizeBytes, tie } = item;
    if (this.chunks.length === 0) this.chunks.push(this.newChunk());
    if (!this.lowerBound(sizeBytes, tie, item.addr)) {
      this.chunkAt = this.chunks.length - 1;
      this.itemAt = this.chunks[this.chunkAt]!.length;
    } else if (this.itemAt === 0 && this.chunkAt > 0 && this.chunks[this.chunkAt - 1]!.length < CHUNK_ITEMS) {
      // Between two chunks either will do; the end of the earlier one moves nothing.
      this.chunkAt -= 1;
      this.itemAt = this.chunks[this.chunkAt]!.length;
    }
    let chunk = this.chunks[this.chunkAt]!;
    if (chunk.length === CHUNK_ITEMS) {
      const right = this.halve(this.chunkAt);
      if (this.itemAt > chunk.length) {
        this.itemAt -= chunk.length;
        chunk = right;
      }
    }
    const { sizes, ties, items } = chunk;
    for (let i = chunk.length; i > this.itemAt; i -= 1) {
      sizes[i] = sizes[i - 1]!;
      ties[i] = ties[i - 1]!;
      items[i] = items[i - 1];
    }
    sizes[this.itemAt] = sizeBytes;
    ties[this.itemAt] = tie;
    items[this.itemAt] = item;
    chunk.length += 1;
  }

  /** Throws (our bug) if the item is not in the set. */
  remove(item: T): void {
    if (!this.lowerBound(item.sizeBytes, item.tie, item.addr) || this.current() !== item)
      throw new MbfError('MBF9001', 'allocator model: a free block is missing from its free set');
    this.removeAt(this.chunkAt, this.itemAt);
  }

  /**
   * Cursor to the first item with a key at or above the given one; false, and a cursor past the end, if there is none.
   */
  private lowerBound(sizeBytes: number, tie: number, addr: number): boolean {
    const { chunks } = this;
    let low = 0;
    let high = chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const chunk = chunks[middle]!;
      if (isBelow(chunk, chunk.length - 1, sizeBytes, tie, addr)) low = middle + 1;
      else high = middle;
    }
    this.chunkAt = low;
    this.itemAt = 0;
    if (low === chunks.length) return false;
    const chunk = chunks[low]!;
    low = 0;
    high = chunk.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBelow(chunk, middle, sizeBytes, tie, addr)) low = middle + 1;
      else high = middle;
    }
    this.itemAt = low;
    return true;
  }

  private newChunk(): Chunk<T> {
    const chunk = this.spare ?? new Chunk<T>();
    this.spare = null;
    return chunk;
  }

  /** Moves the upper half of a full chunk into a new one behind it, and returns that. */
  private halve(at: number): Chunk<T> {
    const left = this.chunks[at]!;
    const right = this.newChunk();
    const from = left.length >>> 1;
    for (let i = from; i < left.length; i += 1) {
      right.sizes[i - from] = left.sizes[i]!;
      right.ties[i - from] = left.ties[i]!;
      right.items[i - from] = left.items[i];
      left.items[i] = undefined;
    }
    right.length = left.length - from;
    left.length = from;
    this.chunks.splice(at + 1, 0, right);
    return right;
  }

  private removeAt(at: number, index: number): void {
    const chunk = this.chunks[at]!;
    const { sizes, ties, items } = chunk;
    const last = chunk.length - 1;
    for (let i = index; i < last; i += 1) {
      sizes[i] = sizes[i + 1]!;
      ties[i] = ties[i + 1]!;
      items[i] = items[i + 1];
    }
    items[last] = undefined;
    chunk.length = last;
    if (last === 0) {
      this.chunks.splice(at, 1);
      this.spare = chunk;
    } else if (last < CHUNK_ITEMS / 4) this.absorbNext(at);
  }

  /** Keeps chunks from becoming many and small: joins a small one with its neighbour where both fit in one. */
  private absorbNext(at: number): void {
    const left = this.chunks[at]!;
    const right = this.chunks[at + 1];
    if (right === undefined || left.length + right.length > CHUNK_ITEMS / 2) return;
    for (let i = 0; i < right.length; i += 1) {
      left.sizes[left.length + i] = right.sizes[i]!;
      left.ties[left.length + i] = right.ties[i]!;
      left.items[left.length + i] = right.items[i];
    }
    left.length += right.length;
    this.chunks.splice(at + 1, 1);
  }
}

/** Whether the key of `chunk`'s item `index` is below the given one. */
function isBelow<T extends FreeSetItem>(
  chunk: Chunk<T>,
  index: number,
  sizeBytes: number,
  tie: number,
  addr: number,
): boolean {
  const size = chunk.sizes[index]!;
  if (size !== sizeBytes) return size < sizeBytes;
  const itemTie = chunk.ties[index]!;
  if (itemTie !== tie) return itemTie < tie;
  return chunk.items[index]!.addr < addr;
}

/**
 * An ordered map from address to a slot number, for tens of thousands of entries that come and go millions of times.
 */

/**
 * Entries per chunk. Shifting half a chunk costs about as much as the binary search that finds the place, and a list of
 * 5 million live blocks still has only ~30,000 chunks, so that splitting one stays cheap.
 */
const CHUNK = 256;

/**
 * A sorted list of sorted chunks: two binary searches per lookup, one short `copyWithin` per change. JavaScript lacks
 * an ordered map, and a tree of objects costs three times the memory. Addresses are plain numbers below 2^53; slots are
 * ≥ 0.
 */
export class AddressIndex {
  size = 0;
  private readonly keys: Float64Array[] = [new Float64Array(CHUNK)];
  private readonly slots: Int32Array[] = [new Int32Array(CHUNK)];
  private readonly lengths: number[] = [0];
  /** Lowest key per chunk; entry 0 is never read, the first chunk takes everything below the second. */
  private firsts = new Float64Array(64);
  private chunk = 0;
  private position = -1;

  /** Puts the cursor on the greatest key ≤ `key` and returns its slot, or −1 if there is none. */
  floor(key: number): number {
    // A free is undone as its completion and its request: the second finds the place of the first.
    if (this.position >= 0 && this.keys[this.chunk]![this.position] === key)
      return this.slots[this.chunk]![this.position]!;
    const firsts = this.firsts;
    let low = 0;
    let high = this.keys.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (firsts[middle]! <= key) low = middle;
      else high = middle - 1;
    }
    const keys = this.keys[low]!;
    let left = -1;
    let right = this.lengths[low]! - 1;
    while (left < right) {
      const middle = (left + right + 1) >> 1;
      if (keys[middle]! <= key) left = middle;
      else right = middle - 1;
    }
    this.chunk = low;
    this.position = left;
    return left < 0 ? -1 : this.slots[low]![left]!;
  }

  /** The slot behind the cursor that {@link floor} left, or −1. */
  afterCursor(): number {
    if (this.position + 1 < this.lengths[this.chunk]!) return this.slots[this.chunk]![this.position + 1]!;
    return this.chunk + 1 < this.keys.length ? this.slots[this.chunk + 1]![0]! : -1;
  }

  /**
   * Inserts `key` right behind the cursor, which then is on it; the caller has called `floor(key)` and found another
   * key or none.
   */
  insertAtCursor(key: number, slot: number): void {
    if (this.lengths[this.chunk] === CHUNK) this.splitChunk();
    const length = this.lengths[this.chunk]!;
    const at = this.position + 1;
    const keys = this.keys[this.chunk]!;
    const slots = this.slots[this.chunk]!;
    keys.copyWithin(at + 1, at, length);
    slots.copyWithin(at + 1, at, length);
    keys[at] = key;
    slots[at] = slot;
    if (at === 0) this.firsts[this.chunk] = key;
    this.lengths[this.chunk] = length + 1;
    this.size += 1;
    this.position = at;
  }

  /** Removes `key` and returns its slot, or −1 if it is not there. */
  delete(key: number): number {
    const slot = this.floor(key);
    if (slot < 0) return -1;
    const keys = this.keys[this.chunk]!;
    const at = this.position;
    if (keys[at] !== key) return -1;
    const length = this.lengths[this.chunk]! - 1;
    keys.copyWithin(at, at + 1, length + 1);
    this.slots[this.chunk]!.copyWithin(at, at + 1, length + 1);
    this.lengths[this.chunk] = length;
    this.size -= 1;
    this.position = -1;
    if (length === 0 && this.keys.length > 1) this.dropChunk(this.chunk);
    else if (at === 0) this.firsts[this.chunk] = keys[0]!;
    return slot;
  }

  /** All slots in ascending order of address. */
  slotsInOrder(): Int32Array {
    const out = new Int32Array(this.size);
    let at = 0;
    for (let chunk = 0; chunk < this.keys.length; chunk += 1) {
      const length = this.lengths[chunk]!;
      out.set(this.slots[chunk]!.subarray(0, length), at);
      at += length;
    }
    return out;
  }

  private splitChunk(): void {
    const chunk = this.chunk;
    const half = CHUNK / 2;
    const keys = new Float64Array(CHUNK);
    const slots = new Int32Array(CHUNK);
    keys.set(this.keys[chunk]!.subarray(half));
    slots.set(this.slots[chunk]!.subarray(half));
    const count = this.keys.length;
    if (count + 1 > this.firsts.length) {
      const grown = new Float64Array(this.firsts.length * 2);
      grown.set(this.firsts);
      this.firsts = grown;
    }
    this.firsts.copyWithin(chunk + 2, chunk + 1, count);
    this.firsts[chunk + 1] = keys[0]!;
    this.keys.splice(chunk + 1, 0, keys);
    this.slots.splice(chunk + 1, 0, slots);
    this.lengths.splice(chunk, 1, half, CHUNK - half);
    if (this.position >= half) {
      this.chunk = chunk + 1;
      this.position -= half;
    }
  }

  private dropChunk(chunk: number): void {
    this.firsts.copyWithin(chunk, chunk + 1, this.keys.length);
    this.keys.splice(chunk, 1);
    this.slots.splice(chunk, 1);
    this.lengths.splice(chunk, 1);
    this.chunk = 0;
    this.position = -1;
  }
}

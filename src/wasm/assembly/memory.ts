/** Memory that JavaScript fills and reads, and arrays that grow. */

/** "Not known", as 64-bit columns of batches have it. */
export const NULL: i64 = i64.MIN_VALUE;
/** Largest integer that is exact in JavaScript. */
export const MAX_SAFE: i64 = 9007199254740991;

/** Zeroed bytes that are never moved and never collected. */
export function allocate(bytes: i32): usize {
  const pointer = heap.alloc(bytes);
  memory.fill(pointer, 0, bytes);
  return pointer;
}

/** Bytes of any content: pages that are never written take no memory. */
export function reserve(bytes: i32): usize {
  return heap.alloc(bytes);
}

/** Moves reserved bytes to a larger place. */
export function resize(at: usize, bytes: i32): usize {
  return heap.realloc(at, bytes);
}

/** Lets others reserve these bytes. The memory never shrinks. */
export function release(at: usize): void {
  heap.free(at);
}

/** A copy of at least twice the length. */
export function grown<T>(array: StaticArray<T>, least: i32 = 0): StaticArray<T> {
  const larger = new StaticArray<T>(max(array.length * 2, least));
  memory.copy(changetype<usize>(larger), changetype<usize>(array), usize(array.length) << alignof<T>());
  return larger;
}

/** For hashes: without it a file could choose keys that meet in one place. */
let seed: i64 = 0x2545f4914f6cdd1d;

export function setSeed(low: i32, high: i32): void {
  seed = (i64(high) << 32) | (i64(low) & 0xffffffff) | 1;
}

/** One step of a hash: every bit of `key` reaches the low bits. */
export function mix(hash: i64, key: i64): i64 {
  let mixed = (hash ^ key ^ seed) * 0x9e3779b97f4a7c15;
  mixed ^= mixed >>> 32;
  mixed *= -0x4b47d0c5a1a2cb47;
  return mixed ^ (mixed >>> 29);
}

/** Dense numbers from 0 for 64-bit keys, in the order of their first use. */
export class Ids {
  count: i32 = 0;
  keys: StaticArray<i64> = new StaticArray<i64>(256);
  private places: StaticArray<i32> = new StaticArray<i32>(512);

  /** The number of `key`, a new one if needed. */
  of(key: i64): i32 {
    const at = this.place(key);
    const known = this.places[at] - 1;
    if (known >= 0) return known;
    const id = this.count++;
    if (id === this.keys.length) this.keys = grown<i64>(this.keys);
    this.keys[id] = key;
    this.places[at] = id + 1;
    if (this.count * 2 > this.places.length) this.spread();
    return id;
  }

  /** −1 = not there. */
  find(key: i64): i32 {
    return this.places[this.place(key)] - 1;
  }

  /** Where `key` is, or would be. */
  private place(key: i64): i32 {
    const mask = this.places.length - 1;
    let at = i32(mix(0, key)) & mask;
    while (this.places[at] !== 0 && this.keys[this.places[at] - 1] !== key) at = (at + 1) & mask;
    return at;
  }

  private spread(): void {
    this.places = new StaticArray<i32>(this.places.length * 2);
    for (let id = 0; id < this.count; id++) this.places[this.place(this.keys[id])] = id + 1;
  }
}

/** A map from address to object that knows neighbours, for tens of thousands that come and go millions of times. */
import { grown } from './memory';

/**
 * Entries per leaf: moving half a leaf costs about as much as the search that finds the place, and five million live
 * blocks still have only some 30,000 leaves, so that splitting one is cheap.
 */
const MOST: i32 = 256;

class Leaf<T> {
  count: i32 = 0;
  keys: StaticArray<i64> = new StaticArray<i64>(MOST);
  values: StaticArray<T | null> = new StaticArray<T | null>(MOST);
}

/** A sorted list of sorted leaves, with a cursor. */
export class Ordered<T> {
  size: i32 = 0;
  private leaves: StaticArray<Leaf<T> | null> = new StaticArray<Leaf<T> | null>(16);
  /** Lowest key per leaf; that of the first is never read, it takes everything below the second. */
  private firsts: StaticArray<i64> = new StaticArray<i64>(16);
  private count: i32 = 1;
  private leaf: i32 = 0;
  private position: i32 = -1;

  constructor() {
    this.leaves[0] = new Leaf<T>();
  }

  /** Puts the cursor on the greatest key ≤ `key`, and returns its value. */
  floor(key: i64): T | null {
    // A free is undone as its completion and its request: the second finds the place of the first.
    if (this.position >= 0 && this.at(this.leaf).keys[this.position] === key)
      return this.at(this.leaf).values[this.position];
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.firsts[middle] <= key) low = middle;
      else high = middle - 1;
    }
    const leaf = this.at(low);
    let left = -1;
    let right = leaf.count - 1;
    while (left < right) {
      const middle = (left + right + 1) >> 1;
      if (leaf.keys[middle] <= key) left = middle;
      else right = middle - 1;
    }
    this.leaf = low;
    this.position = left;
    return left < 0 ? null : leaf.values[left];
  }

  /** The value behind the cursor. */
  next(): T | null {
    const leaf = this.at(this.leaf);
    if (this.position + 1 < leaf.count) return leaf.values[this.position + 1];
    return this.leaf + 1 < this.count ? this.at(this.leaf + 1).values[0] : null;
  }

  /** Inserts right behind the cursor, which then is on it; `floor(key)` found another key or none. */
  insert(key: i64, value: T): void {
    if (this.at(this.leaf).count === MOST) this.split();
    const leaf = this.at(this.leaf);
    const to = this.position + 1;
    const behind = leaf.count - to;
    move<i64>(leaf.keys, to + 1, leaf.keys, to, behind);
    move<T | null>(leaf.values, to + 1, leaf.values, to, behind);
    leaf.keys[to] = key;
    leaf.values[to] = value;
    if (to === 0) this.firsts[this.leaf] = key;
    leaf.count++;
    this.size++;
    this.position = to;
  }

  /** Whether `key` was there. */
  delete(key: i64): bool {
    this.floor(key);
    const from = this.position;
    const leaf = this.at(this.leaf);
    if (from < 0 || leaf.keys[from] !== key) return false;
    leaf.count--;
    move<i64>(leaf.keys, from, leaf.keys, from + 1, leaf.count - from);
    move<T | null>(leaf.values, from, leaf.values, from + 1, leaf.count - from);
    this.size--;
    this.position = -1;
    if (leaf.count === 0 && this.count > 1) this.drop(this.leaf);
    else if (from === 0) this.firsts[this.leaf] = leaf.keys[0];
    return true;
  }

  /** All values, by descending key. */
  descending(): StaticArray<T> {
    const values = new StaticArray<T>(this.size);
    let to = 0;
    for (let index = this.count - 1; index >= 0; index--) {
      const leaf = this.at(index);
      for (let i = leaf.count - 1; i >= 0; i--) values[to++] = leaf.values[i]!;
    }
    return values;
  }

  private at(index: i32): Leaf<T> {
    return this.leaves[index]!;
  }

  private split(): void {
    const half = MOST / 2;
    const leaf = this.at(this.leaf);
    const upper = new Leaf<T>();
    move<i64>(upper.keys, 0, leaf.keys, half, half);
    move<T | null>(upper.values, 0, leaf.values, half, half);
    upper.count = half;
    leaf.count = half;
    if (this.count === this.leaves.length) {
      this.leaves = grown<Leaf<T> | null>(this.leaves);
      this.firsts = grown<i64>(this.firsts);
    }
    const behind = this.count - this.leaf - 1;
    move<Leaf<T> | null>(this.leaves, this.leaf + 2, this.leaves, this.leaf + 1, behind);
    move<i64>(this.firsts, this.leaf + 2, this.firsts, this.leaf + 1, behind);
    this.leaves[this.leaf + 1] = upper;
    this.firsts[this.leaf + 1] = upper.keys[0];
    this.count++;
    if (this.position < half) return;
    this.leaf++;
    this.position -= half;
  }

  private drop(index: i32): void {
    const behind = this.count - index - 1;
    move<Leaf<T> | null>(this.leaves, index, this.leaves, index + 1, behind);
    move<i64>(this.firsts, index, this.firsts, index + 1, behind);
    this.count--;
    this.leaf = 0;
    this.position = -1;
  }
}

/** Elements from one place of an array to another, which may overlap. */
function move<E>(target: StaticArray<E>, to: i32, source: StaticArray<E>, from: i32, count: i32): void {
  if (count <= 0) return;
  if (to + count > target.length || from + count > source.length) unreachable();
  const width = alignof<E>();
  memory.copy(
    changetype<usize>(target) + (usize(to) << width),
    changetype<usize>(source) + (usize(from) << width),
    usize(count) << width,
  );
}

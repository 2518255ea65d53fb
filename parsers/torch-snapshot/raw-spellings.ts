import { doubled } from './text-interner.js';

/** Below this many bytes a value is not worth remembering, and the four-byte comparison would not fit. */
const MIN_BYTES = 8;
const SEED = (Math.random() * 0x7fffffff) | 0;

/** The hash of bytes not yet begun; secret, so that a file cannot be made to collide. */
export const SPELLING_HASH_START = SEED ^ 0x2f6b1;

/**
 * How values were spelled: the raw bytes of each distinct one, found again by hash, and which spelling followed which
 * last time. A JSON snapshot repeats every frame of every stack in full, so comparing bytes with a guess is most of its
 * reading: 0.2 ns a byte where tokenising takes 2 to 3. Equal bytes are an equal value only if they are a whole one,
 * from bracket to bracket: the caller sees to that.
 */
export class RawSpellings {
  private readonly maxPoolBytes: number;
  private pool = Buffer.allocUnsafeSlow(1 << 18);
  private poolView = new DataView(this.pool.buffer, this.pool.byteOffset, this.pool.length);
  private used = 0;
  private offsets = new Uint32Array(1 << 10);
  private lengths = new Uint32Array(1 << 10);
  private hashes = new Int32Array(1 << 10);
  private values = new Int32Array(1 << 10);
  private followers = new Int32Array(1 << 10);
  /** Ids by hash; 0 is a free place. */
  private table = new Int32Array(1 << 12);
  private mask = (1 << 12) - 1;
  /** Number of ids, including 0, which is not a spelling but may precede one. */
  private count = 1;

  /** Beyond `maxPoolBytes` nothing new is remembered. */
  constructor(maxPoolBytes: number) {
    this.maxPoolBytes = maxPoolBytes;
  }

  /** The spelling that followed `id` last time; 0 if none did. */
  follower(id: number): number {
    return this.followers[id]!;
  }

  setFollower(id: number, next: number): void {
    this.followers[id] = next;
  }

  /** What the caller gave with the spelling. */
  value(id: number): number {
    return this.values[id]!;
  }

  length(id: number): number {
    return this.lengths[id]!;
  }

  /** Whether the bytes of the window at `at` are spelling `id`. For short ones: compares word by word. */
  matchesShort(id: number, view: DataView, at: number, end: number): boolean {
    const { poolView } = this;
    const length = this.lengths[id]!;
    if (at + length > end) return false;
    const offset = this.offsets[id]!;
    const last = length - 4;
    // The end first: frames of one file differ in their line numbers.
    if (view.getInt32(at + last, true) !== poolView.getInt32(offset + last, true)) return false;
    for (let i = 0; i < last; i += 4) {
      if (view.getInt32(at + i, true) !== poolView.getInt32(offset + i, true)) return false;
    }
    return true;
  }

  /** The same for long ones, where a native call pays. */
  matchesLong(id: number, bytes: Buffer, at: number, end: number): boolean {
    const length = this.lengths[id]!;
    if (at + length > end || bytes[at + length - 1] !== this.pool[this.offsets[id]! + length - 1]) return false;
    const offset = this.offsets[id]!;
    return this.pool.compare(bytes, at, at + length, offset, offset + length) === 0;
  }

  /** The spelling with this hash whose bytes are at `at`; 0 if there is none. */
  find(hash: number, view: DataView, at: number, end: number): number {
    const { table, mask, hashes } = this;
    let slot = hash & mask;
    for (;;) {
      const id = table[slot]!;
      if (id === 0) return 0;
      if (hashes[id] === hash && this.matchesShort(id, view, at, end)) return id;
      slot = (slot + 1) & mask;
    }
  }

  /** Any spelling with this hash and value; 0 if there is none. */
  findValue(hash: number, value: number): number {
    const { table, mask, hashes, values } = this;
    let slot = hash & mask;
    for (;;) {
      const id = table[slot]!;
      if (id === 0 || (hashes[id] === hash && values[id] === value)) return id;
      slot = (slot + 1) & mask;
    }
  }

  /** Remembers `bytes[start, end)`, which was not found. Returns its id, or 0 if it does not fit. */
  add(hash: number, bytes: Buffer, start: number, end: number, value: number): number {
    const length = end - start;
    if (length < MIN_BYTES || this.used + length > this.maxPoolBytes) return 0;
    if (this.used + length > this.pool.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(this.pool.length * 2 + length, this.maxPoolBytes));
      this.pool.copy(grown, 0, 0, this.used);
      this.pool = grown;
      this.poolView = new DataView(grown.buffer, grown.byteOffset, grown.length);
    }
    const id = this.count++;
    if (id === this.offsets.length) {
      this.offsets = doubled(this.offsets);
      this.lengths = doubled(this.lengths);
      this.hashes = doubled(this.hashes);
      this.values = doubled(this.values);
      this.followers = doubled(this.followers);
    }
    bytes.copy(this.pool, this.used, start, end);
    this.offsets[id] = this.used;
    this.lengths[id] = length;
    this.hashes[id] = hash;
    this.values[id] = value;
    this.used += length;
    if (this.count * 2 > this.mask) {
      this.mask = this.mask * 2 + 1;
      this.table = new Int32Array(this.mask + 1);
      for (let known = 1; known < id; known++) this.place(known);
    }
    this.place(id);
    return id;
  }

  private place(id: number): void {
    let slot = this.hashes[id]! & this.mask;
    while (this.table[slot]! !== 0) slot = (slot + 1) & this.mask;
    this.table[slot] = id;
  }
}

/**
 * DuckDB writes strings up to about 32 KiB a row group at a time; longer ones of one transaction it holds in memory all
 * at once.
 */
const LONG_TEXT_BYTES = 16_384;

/**
 * Interns byte strings: equal bytes get equal ids, dense from 0. Strings are decoded on request, since most are read
 * once or never.
 *
 * The hash covers every byte and starts from a per-process seed, so that a file cannot be made to collide (linear
 * probing would turn a million chosen strings into minutes).
 */
export class TextInterner {
  private pool = Buffer.allocUnsafeSlow(1 << 18);
  private used = 0;
  private offsets = new Uint32Array(1 << 12);
  private lengths = new Uint32Array(1 << 12);
  private hashes = new Int32Array(1 << 12);
  private table = new Int32Array(1 << 13).fill(-1);
  private mask = (1 << 13) - 1;
  private readonly texts: (string | undefined)[] = [];
  private readonly seed = (Math.random() * 0x7fffffff) | 0;
  /** Bytes of the distinct strings above {@link LONG_TEXT_BYTES}. */
  longBytes = 0;
  /** Bytes of all distinct strings. */
  get pooledBytes(): number {
    return this.used;
  }
  /** Number of distinct strings. */
  count = 0;

  /** The id of `bytes[start, start + length)`. */
  intern(bytes: Uint8Array, start: number, length: number): number {
    let hash = this.seed ^ length;
    const end = start + length;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193) ^ (hash >>> 15);
    hash ^= hash >>> 16;
    const { table, mask, pool, hashes, lengths, offsets } = this;
    let slot = hash & mask;
    for (;;) {
      const id = table[slot]!;
      if (id < 0) break;
      if (hashes[id] === hash && lengths[id] === length) {
        const offset = offsets[id]!;
        let i = 0;
        while (i < length && pool[offset + i] === bytes[start + i]) i++;
        if (i === length) return id;
      }
      slot = (slot + 1) & mask;
    }
    return this.insert(bytes, start, length, hash, slot);
  }

  internText(text: string): number {
    const bytes = Buffer.from(text, 'utf8');
    return this.intern(bytes, 0, bytes.length);
  }

  /** The string, with malformed UTF-8 (torch writes surrogates of odd file names) replaced. */
  text(id: number): string {
    let text = this.texts[id];
    if (text === undefined) {
      const offset = this.offsets[id]!;
      text = this.pool.toString('utf8', offset, offset + this.lengths[id]!);
      this.texts[id] = text;
    }
    return text;
  }

  private insert(bytes: Uint8Array, start: number, length: number, hash: number, slot: number): number {
    const id = this.count++;
    if (id === this.offsets.length) {
      this.offsets = doubled(this.offsets);
      this.lengths = doubled(this.lengths);
      this.hashes = doubled(this.hashes);
    }
    if (this.used + length > this.pool.length) {
      let capacity = this.pool.length * 2;
      while (capacity < this.used + length) capacity *= 2;
      const grown = Buffer.allocUnsafeSlow(capacity);
      this.pool.copy(grown, 0, 0, this.used);
      this.pool = grown;
    }
    this.pool.set(bytes.subarray(start, start + length), this.used);
    this.offsets[id] = this.used;
    this.lengths[id] = length;
    this.hashes[id] = hash;
    this.used += length;
    if (length > LONG_TEXT_BYTES) this.longBytes += length;
    this.table[slot] = id;
    if (this.count * 2 > this.mask) this.rehash();
    return id;
  }

  private rehash(): void {
    this.mask = this.mask * 2 + 1;
    this.table = new Int32Array(this.mask + 1).fill(-1);
    for (let id = 0; id < this.count; id++) {
      let slot = this.hashes[id]! & this.mask;
      while (this.table[slot]! >= 0) slot = (slot + 1) & this.mask;
      this.table[slot] = id;
    }
  }
}

type Growable = Uint32Array | Int32Array | Float64Array | Uint8Array;

/** A copy of twice the length (or at least `atLeast`). */
export function doubled<T extends Growable>(array: T, atLeast = 0): T {
  const Constructor = array.constructor as new (length: number) => T;
  const grown = new Constructor(Math.max(array.length * 2, atLeast));
  grown.set(array);
  return grown;
}

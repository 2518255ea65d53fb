/**
 * Columns of integers as bytes: differences, zigzag, LEB128. After gzip they are smaller than planar 32-bit integers,
 * hold all integers below 2^53, and are decoded by one loop. Shared by the generator of the page and the page itself.
 */

const MOST_INT = 2 ** 31 - 1;

/** Bytes that grow as they are written. */
export class ByteSink {
  private bytes = new Uint8Array(1 << 16);
  length = 0;

  /** `value` must be an integer of 0 to 2^53 − 1. */
  varint(value: number): void {
    if (this.length + 8 > this.bytes.length) this.grow();
    while (value > MOST_INT) {
      this.bytes[this.length++] = (value % 0x80) | 0x80;
      value = Math.floor(value / 0x80);
    }
    // Most are small, and integers of 31 bits are divided by shifting.
    let small = value | 0;
    while (small >= 0x80) {
      this.bytes[this.length++] = (small & 0x7f) | 0x80;
      small >>>= 7;
    }
    this.bytes[this.length++] = small;
  }

  append(bytes: Uint8Array): void {
    while (this.length + bytes.length > this.bytes.length) this.grow();
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  private grow(): void {
    const larger = new Uint8Array(this.bytes.length * 2);
    larger.set(this.bytes);
    this.bytes = larger;
  }

  result(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }
}

/** One column: each value in units of `unit`, less the one before, with its sign in the lowest bit. */
export function writeColumn(sink: ByteSink, values: ArrayLike<number>, unit = 1): void {
  let before = 0;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i]! / unit;
    const difference = value - before;
    before = value;
    sink.varint(difference < 0 ? -2 * difference - 1 : 2 * difference);
  }
}

/** Where {@link readColumn} reads on. */
export interface ByteSource {
  readonly bytes: Uint8Array;
  at: number;
}

/** The next `count` values. Throws a RangeError where the bytes end early. */
export function readColumn(source: ByteSource, count: number): Float64Array {
  const { bytes } = source;
  const values = new Float64Array(count);
  let { at } = source;
  let value = 0;
  for (let i = 0; i < count; i += 1) {
    let number = 0;
    let factor = 1;
    for (;;) {
      if (at >= bytes.length) throw new RangeError('the picture data end early');
      const byte = bytes[at++]!;
      number += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
      factor *= 0x80;
    }
    value += number % 2 === 1 ? -(number + 1) / 2 : number / 2;
    values[i] = value;
  }
  source.at = at;
  return values;
}

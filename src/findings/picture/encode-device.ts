/** The columns of a device as bytes. The page has them gzipped, in base64; its `decode-device.ts` reads them. */
import { OPEN_SEQ as OPEN } from '../../model/picture/levels.js';
import { type DeviceColumns, LEVEL_BYTES } from '../../model/picture/page-data.js';

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

/**
 * One column: each value in units of `unit`, less the one before, with its sign in the lowest bit, as LEB128. After
 * gzip it is smaller than planar 32-bit integers, holds all integers below 2^53, and is decoded by one loop.
 */
export function writeColumn(sink: ByteSink, values: ArrayLike<number>, unit = 1): void {
  let before = 0;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i]! / unit;
    const difference = value - before;
    before = value;
    sink.varint(difference < 0 ? -2 * difference - 1 : 2 * difference);
  }
}

/** `unitBytes` must divide every size and place. */
export function encodeDevice(columns: DeviceColumns, unitBytes: number): Uint8Array {
  const sink = new ByteSink();
  const { blocks, segments, bands, stacks } = columns;
  const frames = new TextEncoder().encode(JSON.stringify(columns.frames));
  sink.varint(frames.length);
  sink.append(frames);
  writeColumn(
    sink,
    stacks.map((stack) => stack.length),
  );
  writeColumn(sink, stacks.flat());
  for (const level of columns.levels) {
    writeColumn(sink, level.at);
    for (const name of LEVEL_BYTES) writeColumn(sink, level[name], unitBytes);
    for (const component of level.components) writeColumn(sink, component, unitBytes);
    sink.varint(level.startUs.length);
    writeColumn(sink, level.startUs);
  }
  writeColumn(sink, blocks.from);
  writeColumn(sink, endsOf(blocks));
  writeColumn(
    sink,
    blocks.pending.map((seq, i) => Math.max(0, blocks.to[i]! - Math.max(seq, blocks.from[i]!))),
  );
  writeColumn(sink, blocks.bytes, unitBytes);
  writeColumn(sink, blocks.place, unitBytes);
  writeColumn(sink, blocks.stack);
  writeColumn(sink, blocks.component);
  writeColumn(sink, blocks.isPrivate);
  writeColumn(sink, segments.from);
  writeColumn(sink, endsOf(segments));
  writeColumn(sink, segments.bytes, unitBytes);
  writeColumn(sink, segments.place, unitBytes);
  writeColumn(sink, segments.isPrivate);
  writeColumn(sink, segments.isExpandable);
  writeColumn(sink, segments.isSmall);
  writeColumn(sink, segments.stream);
  writeColumn(
    sink,
    bands.map((band) => band.bytes),
  );
  writeColumn(
    sink,
    bands.map((band) => band.address),
  );
  return sink.result();
}

/** Lives are shorter numbers than ends, and 0 is open. */
const endsOf = ({ from, to }: { readonly from: Int32Array; readonly to: Int32Array }): Int32Array =>
  to.map((end, i) => (end === OPEN ? 0 : end - from[i]!));

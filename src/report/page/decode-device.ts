/** The columns of a device from bytes of the page; see `encode-device.ts`. */
import { OPEN_SEQ as OPEN } from '../../model/picture/levels.js';
import {
  type Band,
  type DeviceColumns,
  LEVEL_BYTES,
  type PageBlocks,
  type PageDevice,
  type PageLevel,
  type PageSegments,
} from '../../model/picture/page-data.js';

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

/** Throws a RangeError for bytes that are cut. */
export function decodeDevice(bytes: Uint8Array, page: PageDevice): DeviceColumns {
  const source: ByteSource = { bytes, at: 0 };
  const { unitBytes } = page;
  const length = readUnsigned(source);
  const frames = JSON.parse(new TextDecoder().decode(bytes.subarray(source.at, source.at + length))) as string[];
  source.at += length;
  const sizes = readColumn(source, page.stacks);
  const all = readColumn(
    source,
    sizes.reduce((sum, size) => sum + size, 0),
  );
  let next = 0;
  const stacks = Array.from(sizes, (size) => {
    next += size;
    return [...all.subarray(next - size, next)];
  });
  const inBytes = (count: number): Float64Array => readColumn(source, count).map((value) => value * unitBytes);
  const levels = page.levels.map((range): PageLevel => {
    const at = readColumn(source, range.columns);
    const figures = Object.fromEntries(LEVEL_BYTES.map((name) => [name, inBytes(range.columns)])) as Pick<
      PageLevel,
      (typeof LEVEL_BYTES)[number]
    >;
    const components = page.components.map(() => inBytes(range.columns));
    const times = readUnsigned(source);
    return { ...range, at, ...figures, components, startUs: readColumn(source, times) };
  });
  const blocks = readBlocks(source, page.blocks, inBytes);
  const segments = readSegments(source, page.segments, inBytes);
  const bandBytes = readColumn(source, page.bands);
  const addresses = readColumn(source, page.bands);
  let place = 0;
  const bands = Array.from(bandBytes, (size, i): Band => {
    place += size;
    return { place: place - size, bytes: size, address: addresses[i]! };
  });
  return { levels, blocks, segments, bands, stacks, frames };
}

function readUnsigned(source: ByteSource): number {
  let value = 0;
  let factor = 1;
  for (;;) {
    const byte = source.bytes[source.at++];
    if (byte === undefined) throw new RangeError('the picture data end early');
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
    factor *= 0x80;
  }
}

function readBlocks(source: ByteSource, count: number, inBytes: (count: number) => Float64Array): PageBlocks {
  const from = Int32Array.from(readColumn(source, count));
  const lives = readColumn(source, count);
  const to = Int32Array.from(lives, (life, i) => (life === 0 ? OPEN : from[i]! + life));
  const waits = readColumn(source, count);
  const pending = Int32Array.from(waits, (wait, i) => to[i]! - wait);
  const bytes = inBytes(count);
  const place = inBytes(count);
  const stack = Int32Array.from(readColumn(source, count));
  const component = Uint8Array.from(readColumn(source, count));
  const isPrivate = Uint8Array.from(readColumn(source, count));
  return { count, from, to, pending, bytes, place, stack, component, isPrivate };
}

function readSegments(source: ByteSource, count: number, inBytes: (count: number) => Float64Array): PageSegments {
  const from = Int32Array.from(readColumn(source, count));
  const to = Int32Array.from(readColumn(source, count), (life, i) => (life === 0 ? OPEN : from[i]! + life));
  const bytes = inBytes(count);
  const place = inBytes(count);
  const [isPrivate, isExpandable, isSmall] = [1, 2, 3].map(() => Uint8Array.from(readColumn(source, count))) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  return { count, from, to, bytes, place, isPrivate, isExpandable, isSmall, stream: readColumn(source, count) };
}

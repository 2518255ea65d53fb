/** The columns of a device as bytes and back. The page has them gzipped, in base64. */
import { OPEN_SEQ as OPEN } from './levels.js';
import type { Band, DeviceColumns, PageBlocks, PageDevice, PageLevel, PageSegments } from './page-data.js';
import { ByteSink, type ByteSource, readColumn, writeColumn } from './varints.js';

/** Columns of a level that are in bytes. */
const LEVEL_BYTES = [
  'active',
  'pending',
  'reserved',
  'privateReserved',
  'privateActive',
  'activeLeast',
  'reservedMost',
] as const;

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

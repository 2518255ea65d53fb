/**
 * The framing of an event file: TFRecord. A record is its length (8 bytes), a checksum of the length, the data, a
 * checksum of the data, all little-endian. Both checksums are checked; where a length is damaged, the next offset is
 * sought at which one fits.
 */
import type { ByteSource } from '../../src/model/parser.js';
import { MIB } from '../../src/model/units.js';
import { continueCrc, maskCrc, maskedCrc } from './masked-crc.js';

const LENGTH_BYTES = 8;
const HEAD_BYTES = 12;
const FOOT_BYTES = 4;
/**
 * Protocol buffers end at 2 GiB, so that a longer record is none; with its checksum right by chance it would swallow
 * the rest.
 */
const MOST_RECORD_BYTES = 2 ** 31;
/**
 * Records that are handed over. What is longer holds a graph, an image or a histogram: it is checked and passed over.
 */
export const MOST_HELD_BYTES = 8 * MIB;
const CHUNK_BYTES = 256 * 1024;

export interface RecordVisitor {
  /** The data is valid until the call returns. `ordinal` is 1-based, `offset` that of the length. */
  record(data: Uint8Array, ordinal: number, offset: number): void;
}

/** What was not handed over, and why. */
export interface RecordsRead {
  /** Records that are whole, the long ones included. */
  readonly whole: number;
  readonly longRecords: number;
  readonly longBytes: number;
  /** Bytes that belong to no whole record, the first of them, and how many stretches of them there are. */
  readonly lostBytes: number;
  readonly firstLost: number | null;
  readonly damages: number;
  /** The file ends inside its last record: there, and how many bytes of it are there. */
  readonly cut: { readonly offset: number; readonly bytes: number } | null;
  readonly bytes: number;
}

/** Whether the 12 bytes at `at` can begin a record of at least one byte. */
export function fitsLength(bytes: Uint8Array, at: number): boolean {
  // Nearly all offsets end here: the upper half of a length is zero.
  if (bytes[at + 4] !== 0 || bytes[at + 5] !== 0 || bytes[at + 6] !== 0 || bytes[at + 7] !== 0) return false;
  const length = u32(bytes, at);
  if (length === 0 || length > MOST_RECORD_BYTES) return false;
  return maskedCrc(bytes.subarray(at, at + LENGTH_BYTES)) === u32(bytes, at + LENGTH_BYTES);
}

export async function readRecords(
  source: ByteSource,
  visitor: RecordVisitor,
  progress?: ((bytes: number) => void) | undefined,
): Promise<RecordsRead> {
  const window = new Window(source, progress);
  let wholeRecords = 0;
  let longRecords = 0;
  let longBytes = 0;
  let lostBytes = 0;
  let firstLost: number | null = null;
  let damages = 0;
  let cut: RecordsRead['cut'] = null;
  /** Inside a range without valid records: it counts as one damage. */
  let lost = false;
  const lose = (bytes: number): void => {
    if (!lost) damages += 1;
    lost = true;
    firstLost ??= window.position;
    lostBytes += bytes;
  };
  for (;;) {
    if (!(await window.has(HEAD_BYTES))) break;
    if (!fitsLength(window.bytes, window.at)) {
      const next = window.find();
      lose(next - window.at);
      window.skip(next - window.at);
      continue;
    }
    const length = u32(window.bytes, window.at);
    const offset = window.position;
    const total = HEAD_BYTES + length + FOOT_BYTES;
    if (length <= MOST_HELD_BYTES) {
      if (!(await window.has(total))) break;
      const data = window.bytes.subarray(window.at + HEAD_BYTES, window.at + HEAD_BYTES + length);
      if (maskedCrc(data) === u32(window.bytes, window.at + HEAD_BYTES + length)) {
        lost = false;
        wholeRecords += 1;
        visitor.record(data, wholeRecords, offset);
        window.skip(total);
      } else {
        // Its length is valid, so the next record is at that distance; unless the length is the damage, and records are
        // inside.
        const isNext = (await window.has(total + HEAD_BYTES)) && fitsLength(window.bytes, window.at + total);
        const step = isNext || window.left === total ? total : 1;
        lose(step);
        window.skip(step);
        if (isNext) lost = false;
      }
      continue;
    }
    const passed = await window.pass(length);
    if (passed === undefined) {
      cut = { offset, bytes: window.position - offset };
      break;
    }
    if (passed) {
      lost = false;
      wholeRecords += 1;
      longRecords += 1;
      longBytes += total;
    } else {
      if (!lost) damages += 1;
      lost = false;
      firstLost ??= offset;
      lostBytes += total;
    }
  }
  if (cut === null && window.left > 0) {
    if (lost && !fitsLengthNear(window)) lose(window.left);
    else cut = { offset: window.position, bytes: window.left };
  }
  return {
    whole: wholeRecords,
    longRecords,
    longBytes,
    lostBytes,
    firstLost,
    damages,
    cut,
    bytes: window.position + window.left,
  };
}

/** After damage, a remainder is the beginning of a record only if its length fits. */
function fitsLengthNear(window: Window): boolean {
  return window.left >= HEAD_BYTES && fitsLength(window.bytes, window.at);
}

function u32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

/** The part of the stream that is held: from `at` to the end of what was read. */
class Window {
  bytes: Uint8Array = new Uint8Array(2 * CHUNK_BYTES);
  at = 0;
  private end = 0;
  /** Of the stream, at the first byte of `bytes`. */
  private base = 0;
  private ended = false;
  private readonly source: ByteSource;
  private readonly progress: ((bytes: number) => void) | undefined;

  constructor(source: ByteSource, progress: ((bytes: number) => void) | undefined) {
    this.source = source;
    this.progress = progress;
  }

  get position(): number {
    return this.base + this.at;
  }

  get left(): number {
    return this.end - this.at;
  }

  /** Reads until so many bytes are there; false if the stream ends before. */
  async has(count: number): Promise<boolean> {
    while (this.left < count && !this.ended) await this.fill(count);
    return this.left >= count;
  }

  skip(count: number): void {
    this.at += count;
  }

  /** The next index from `at` on at which a length fits, or from which too few bytes remain to check. */
  find(): number {
    const last = this.end - HEAD_BYTES;
    let at = this.at + 1;
    while (at <= last && !fitsLength(this.bytes, at)) at += 1;
    return at;
  }

  /** Passes a record over without holding it: whether its checksum is right; undefined if the stream ends inside. */
  async pass(length: number): Promise<boolean | undefined> {
    this.at += HEAD_BYTES;
    let crc = 0;
    let remaining = length;
    while (remaining > 0) {
      if (!(await this.has(1))) return undefined;
      const count = Math.min(remaining, this.left);
      crc = continueCrc(this.bytes.subarray(this.at, this.at + count), crc);
      this.at += count;
      remaining -= count;
    }
    if (!(await this.has(FOOT_BYTES))) {
      this.at = this.end;
      return undefined;
    }
    const isRight = maskCrc(crc) === u32(this.bytes, this.at);
    this.at += FOOT_BYTES;
    return isRight;
  }

  private async fill(count: number): Promise<void> {
    if (this.bytes.length - this.at < Math.max(count, CHUNK_BYTES)) {
      const newSize = Math.max(2 * CHUNK_BYTES, count + CHUNK_BYTES);
      const target = this.bytes.length >= newSize ? this.bytes : new Uint8Array(newSize);
      target.set(this.bytes.subarray(this.at, this.end));
      this.base += this.at;
      this.end -= this.at;
      this.at = 0;
      this.bytes = target;
    }
    const read = await this.source.read(this.bytes, this.end);
    if (read === 0) this.ended = true;
    this.end += read;
    this.progress?.(this.base + this.end);
  }
}

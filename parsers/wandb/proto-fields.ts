/**
 * Protobuf messages, field by field. The checksum proves that bytes are as written, not who wrote them: every length is
 * checked against its message.
 */
import { PbfReader } from 'pbf';

/** Thrown if bytes are not a message of the expected shape; caught inside this folder. */
export class NoMessage extends Error {}

const BYTES = 2;
const VARINT = 0;

/** A reader that decodes texts in place: a view for each of millions of keys costs more than its text. */
export function messageReader(bytes: Uint8Array): PbfReader {
  return new PbfReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}

/** Calls `onField` for every field of the message that ends at `end`. What it does not read is passed over. */
export function eachField(pbf: PbfReader, end: number, onField: (field: number) => void): void {
  for (let field = pbf.nextField(end); field !== 0; field = pbf.nextField(end)) {
    onField(field);
    if (pbf.pos > end) break;
  }
  if (pbf.pos !== end) throw new NoMessage();
}

/** Where the text, bytes or message ends that begins after the length to be read. */
export function endOfField(pbf: PbfReader, end: number): number {
  if (pbf.type !== BYTES) throw new NoMessage();
  const length = pbf.readVarint();
  const stop = pbf.pos + length;
  if (!(stop <= end)) throw new NoMessage();
  return stop;
}

/** A message inside the one that ends at `end`. */
export function eachFieldOf(pbf: PbfReader, end: number, onField: (field: number, end: number) => void): void {
  const stop = endOfField(pbf, end);
  eachField(pbf, stop, (field) => onField(field, stop));
}

/** A text; what is longer than `most` bytes is empty. The reader is one of {@link messageReader}. */
export function readText(pbf: PbfReader, end: number, most: number): string {
  const stop = endOfField(pbf, end);
  const from = pbf.pos;
  pbf.pos = stop;
  if (stop - from > most) return '';
  return (pbf.buf as Buffer).toString('utf8', from, stop);
}

/** A whole number; beyond 2^53 not exact. */
export function readNumber(pbf: PbfReader, end: number): number {
  if (pbf.type !== VARINT) throw new NoMessage();
  const value = pbf.readVarint(true);
  if (!Number.isFinite(value) || pbf.pos > end) throw new NoMessage();
  return value;
}

/** `google.protobuf.Timestamp` in microseconds since 1970; null if it is none of this century or so. */
export function readTimeUs(pbf: PbfReader, end: number): number | null {
  let seconds = 0;
  let nanos = 0;
  eachFieldOf(pbf, end, (field, stop) => {
    if (field === 1) seconds = readNumber(pbf, stop);
    else if (field === 2) nanos = readNumber(pbf, stop);
  });
  return timeUs(seconds + nanos / 1e9, Math.round(seconds) * 1e6 + Math.round(nanos / 1e3));
}

/** Seconds since 1970 as microseconds; null if it is not a plausible time of a run. */
export function timeUs(seconds: number, microseconds = Math.round(seconds * 1e6)): number | null {
  return seconds > 0 && seconds < 1e11 && Number.isSafeInteger(microseconds) ? microseconds : null;
}

/** Lines of a stream of JSON objects, with their places; a line too long for one string is reported and skipped. */
import type { ByteSource } from '../../src/model/parser.js';
import { MIB } from '../../src/model/units.js';

export interface TextLine {
  readonly text: string;
  /** 1-based, and the byte at which it begins. */
  readonly line: number;
  readonly offset: number;
}

/** The first line contains every string of the report; a longer one is not a report. */
export const MOST_LINE_BYTES = 256 * MIB;

/** Calls `onLong` for lines that were skipped. */
export async function* readLines(
  source: ByteSource,
  progress: ((bytes: number) => void) | undefined,
  onLong: (line: number, offset: number) => void,
): AsyncGenerator<TextLine, void, void> {
  const chunk = Buffer.allocUnsafe(4 * MIB);
  let pieces: Buffer[] = [];
  let pending = 0;
  let line = 1;
  let lineStart = 0;
  let position = 0;
  const take = (last: Buffer): TextLine | undefined => {
    const bytes = pending + last.length;
    const lineBytes = pieces.length === 0 ? last : Buffer.concat([...pieces, last]);
    pieces = [];
    const isLong = pending === Number.POSITIVE_INFINITY;
    pending = 0;
    if (isLong) {
      onLong(line, lineStart);
      return undefined;
    }
    return bytes === 0 ? undefined : { text: lineBytes.toString('utf8'), line, offset: lineStart };
  };
  for (;;) {
    const length = await source.read(chunk, 0);
    if (length === 0) break;
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(10, start);
      if (end < 0 || end >= length) break;
      const text = take(chunk.subarray(start, end));
      if (text !== undefined) yield text;
      start = end + 1;
      line += 1;
      lineStart = position + start;
    }
    if (start < length && pending !== Number.POSITIVE_INFINITY) {
      pending += length - start;
      if (pending > MOST_LINE_BYTES) {
        pieces = [];
        pending = Number.POSITIVE_INFINITY;
      } else pieces.push(Buffer.from(chunk.subarray(start, length)));
    }
    position += length;
    progress?.(position);
  }
  const text = take(Buffer.alloc(0));
  if (text !== undefined) yield text;
}

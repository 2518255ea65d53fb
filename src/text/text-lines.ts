/** Lines of a text that may be larger than memory, each with its place. */
import type { ByteSource } from '../model/parser.js';

const CHUNK_BYTES = 256 * 1024;
/** What is kept of a longer line: no record of a line-based format comes near, and a file may be one line. */
export const MOST_LINE_BYTES = 1024 * 1024;

/**
 * Receives one line without its end. `text` has one character a byte (latin1; see {@link utf8}), so that lengths are
 * bytes. `isWhole` is false where the line was cut at {@link MOST_LINE_BYTES}, or where the file ends without a line
 * feed, perhaps in the middle of it.
 */
export type TakeLine = (text: string, line: number, offset: number, isWhole: boolean) => void;

/**
 * Reads all lines. Line feeds end a line, and so does a carriage return, alone or before one (a progress bar or an old
 * editor wrote it); lines are counted by line feeds. A byte order mark does not belong to the first line.
 *
 * @returns the length of the text in bytes.
 */
export async function readLines(
  source: ByteSource,
  take: TakeLine,
  progress?: (bytes: number) => void,
): Promise<number> {
  let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  /** Bytes at the front of the buffer, which begin a line. */
  let filled = 0;
  /** Offset of the first of them in the file. */
  let base = 0;
  let line = 1;
  /** The line being read is longer than what is kept, and was given already. */
  let isSkipping = false;
  for (;;) {
    if (filled === buffer.length) {
      if (buffer.length < MOST_LINE_BYTES) {
        const grown = Buffer.allocUnsafe(buffer.length * 2);
        buffer.copy(grown);
        buffer = grown;
      } else {
        if (!isSkipping) give(buffer.toString('latin1', 0, filled), line, base, false, take);
        isSkipping = true;
        base += filled;
        filled = 0;
      }
    }
    const count = await source.read(buffer, filled);
    if (count === 0) break;
    const end = filled + count;
    let start = 0;
    if (isSkipping) {
      const feed = buffer.subarray(0, end).indexOf(10, filled);
      if (feed < 0) {
        base += end;
        filled = 0;
        continue;
      }
      start = feed + 1;
      line += 1;
      isSkipping = false;
    }
    const last = buffer.subarray(0, end).lastIndexOf(10);
    if (last >= start) {
      const text = buffer.toString('latin1', start, last + 1);
      for (let from = 0; from < text.length; line += 1) {
        const feed = text.indexOf('\n', from);
        give(text.slice(from, feed), line, base + start + from, true, take);
        from = feed + 1;
      }
      start = last + 1;
    }
    buffer.copyWithin(0, start, end);
    base += start;
    filled = end - start;
    progress?.(base);
  }
  if (filled > 0 && !isSkipping) give(buffer.toString('latin1', 0, filled), line, base, false, take);
  return base + filled;
}

function give(text: string, line: number, offset: number, isWhole: boolean, take: TakeLine): void {
  const mark = offset === 0 && text.startsWith('\xef\xbb\xbf') ? 3 : 0;
  let from = mark;
  for (let end = text.indexOf('\r', from); end >= 0; end = text.indexOf('\r', from)) {
    // The text before a return is complete.
    take(text.slice(from, end), line, offset + from, true);
    from = end + 1;
    if (from === text.length) return;
  }
  take(mark === 0 && from === 0 ? text : text.slice(from), line, offset + from, isWhole);
}

/**
 * A text of one character a byte as it was meant. Always a copy: a piece of a line would keep the whole chunk that was
 * read alive for as long as it is known.
 */
export function utf8(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8');
}

/** The other way round, for readers that take lines and documents alike. */
export function oneCharAByte(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** A copy of a piece of a line, to be kept: the piece itself would keep its chunk. */
export function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

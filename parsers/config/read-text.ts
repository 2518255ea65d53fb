import { MbfError } from '../../src/model/errors.js';
import type { ByteSource, ParseContext } from '../../src/model/parser.js';

/** A configuration of a thousand ranks with every default spelt out has less than one MiB. */
export const MOST_BYTES = 32 * 1024 * 1024;
/** Of all but JSON, whose values are counted: the rows of a text take thirty times its bytes in memory. */
export const MOST_TEXT_BYTES = 4 * 1024 * 1024;

/** The whole file; configurations are small, so that nothing needs to stream. */
export async function readAll(source: ByteSource, context: ParseContext): Promise<Buffer> {
  if (source.sizeBytes !== undefined) refuse(source.sizeBytes, MOST_BYTES);
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(Math.min(256 * 1024, (source.sizeBytes ?? 256 * 1024) + 1));
    const count = await source.read(chunk, 0);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    length += count;
    refuse(length, MOST_BYTES);
    context.progress?.(length);
  }
  return Buffer.concat(chunks, length);
}

export function refuse(bytes: number, limit: number): void {
  if (bytes <= limit) return;
  throw new MbfError('MBF2201', `is a configuration of more than ${limit / 1024 / 1024} MiB`);
}

/** A text with the line and byte offset of every character. */
export class PlacedText {
  readonly text: string;
  private readonly starts: number[] = [0];
  private readonly offsets: number[];

  constructor(bytes: Buffer) {
    const mark = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    this.text = bytes.toString('utf8', mark);
    this.offsets = [mark];
    let byte = mark;
    for (let from = 0; ; ) {
      const end = this.text.indexOf('\n', from);
      if (end < 0) break;
      const feed = bytes.indexOf(10, byte);
      byte = feed + 1;
      from = end + 1;
      this.starts.push(from);
      this.offsets.push(byte);
    }
  }

  /** 1-based line of a character, and the byte offset where that line begins. */
  place(index: number): { readonly line: number; readonly offset: number } {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle]! <= index) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, offset: this.offsets[low]! };
  }
}

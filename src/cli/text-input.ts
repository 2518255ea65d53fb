/** A text named on the command line, or standard input, as a byte stream of any size. */

import { openByteSource } from '../ingest/read/byte-source.js';
import { MbfError } from '../model/errors.js';
import type { ByteSource } from '../model/parser.js';
import { formatBytes, MIB } from '../model/units.js';

export interface TextInput {
  /** As results name it. */
  readonly name: string;
  readonly source: ByteSource;
  close(): Promise<void>;
}

/** `-` is standard input; a file may be compressed. */
export async function openTextInput(operand: string): Promise<TextInput> {
  if (operand === '-') return { name: '<stdin>', source: streamSource(process.stdin), close: async () => undefined };
  try {
    const opened = await openByteSource(operand);
    return { name: operand, source: opened.source, close: () => opened.close() };
  } catch (error) {
    if (!(error instanceof MbfError)) throw error;
    const isMissing = error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'ENOENT';
    throw isMissing ? new MbfError('MBF1003', 'no such file', { file: operand }, error.cause) : error.inFile(operand);
  }
}

/** What is read whole is written by hand; what is larger is something else. */
const MOST_TEXT_BYTES = 16 * MIB;

/** A small text file. Throws MBF1003 if it does not exist, MBF1001 if it is too large or not a text. */
export async function readTextFile(path: string): Promise<string> {
  const bytes = await readSmallFile(path);
  if (bytes.includes(0)) throw new MbfError('MBF1001', 'is not a text file', { file: path });
  return bytes.toString('utf8');
}

export async function readSmallFile(path: string): Promise<Buffer> {
  const { source, name, close } = await openTextInput(path);
  try {
    const parts: Buffer[] = [];
    let size = 0;
    for (;;) {
      const part = Buffer.allocUnsafe(65_536);
      const count = await source.read(part, 0);
      if (count === 0) return Buffer.concat(parts);
      parts.push(part.subarray(0, count));
      size += count;
      if (size > MOST_TEXT_BYTES)
        throw new MbfError('MBF1001', `larger than ${formatBytes(MOST_TEXT_BYTES)}`, { file: name });
    }
  } finally {
    await close();
  }
}

/** Reads a Node stream as it comes. */
export function streamSource(stream: AsyncIterable<unknown>): ByteSource {
  const chunks = stream[Symbol.asyncIterator]();
  let unread: Uint8Array = new Uint8Array(0);
  return {
    sizeBytes: undefined,
    async read(target, start) {
      while (unread.length === 0) {
        const { value, done } = await chunks.next();
        if (done === true) return 0;
        unread = typeof value === 'string' ? Buffer.from(value, 'utf8') : (value as Uint8Array);
      }
      const count = Math.min(unread.length, target.length - start);
      target.set(unread.subarray(0, count), start);
      unread = unread.subarray(count);
      return count;
    },
  };
}

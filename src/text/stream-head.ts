/** The beginning of a stream: what detection saw of it, read again, and what detection looks at in a text. */
import type { ByteSource, Head } from '../model/parser.js';

/** As much as detection sees. */
export const HEAD_BYTES = 64 * 1024;

/** Up to so many bytes from the start; {@link precededBy} gives them back. */
export async function readHead(source: ByteSource, bytes = HEAD_BYTES): Promise<Buffer> {
  const head = Buffer.allocUnsafe(bytes);
  let filled = 0;
  while (filled < bytes) {
    const count = await source.read(head, filled);
    if (count === 0) break;
    filled += count;
  }
  return head.subarray(0, filled);
}

/** `source` with bytes in front that were taken from it. */
export function precededBy(head: Uint8Array, source: ByteSource): ByteSource {
  let pending = head;
  return {
    sizeBytes: source.sizeBytes,
    read(target, start) {
      if (pending.length === 0) return source.read(target, start);
      const part = pending.subarray(0, target.length - start);
      target.set(part, start);
      pending = pending.subarray(part.length);
      return Promise.resolve(part.length);
    },
  };
}

/**
 * The text of a head without a byte order mark, and those of its lines that are not blank, the last one only if it is
 * whole or alone: it may be cut.
 */
export function textOfHead(
  { bytes }: Head,
  encoding: 'utf8' | 'latin1',
): { readonly text: string; readonly filled: readonly string[] } {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString(encoding)
    .replace(encoding === 'utf8' ? /^\ufeff/ : /^\xef\xbb\xbf/, '');
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.length > 1) lines.pop();
  return { text, filled: lines.filter((line) => line.trim() !== '') };
}

/** Lines of a head that may be of something else: scripts print a date or a complaint between. */
export const MOST_FOREIGN = 0.1;

/** Whether a file is of a form, by the lines of its head. A log that begins with other output is far below. */
export function mostAre(lines: readonly string[], test: (line: string) => boolean): boolean {
  return lines.filter((line) => !test(line)).length <= MOST_FOREIGN * lines.length;
}

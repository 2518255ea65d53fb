import type { ByteSource } from '../../src/model/parser.js';

/** The first bytes of a stream, and a stream that begins with them again. */
export async function peek(
  source: ByteSource,
  bytes: number,
): Promise<{ readonly head: Buffer; readonly source: ByteSource }> {
  const buffer = Buffer.alloc(bytes);
  let filled = 0;
  while (filled < bytes) {
    const count = await source.read(buffer, filled);
    if (count === 0) break;
    filled += count;
  }
  const head = buffer.subarray(0, filled);
  let given = 0;
  return {
    head,
    source: {
      sizeBytes: source.sizeBytes,
      async read(target, start) {
        if (given === head.length) return source.read(target, start);
        const count = Math.min(head.length - given, target.length - start);
        target.set(head.subarray(given, given + count), start);
        given += count;
        return count;
      },
    },
  };
}

/** Files of bytes, read to their end as a parser does. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createRandom } from '../../samples/generate/simulate/random.js';
import { type ByteSourceOptions, openByteSource } from '../../src/ingest/read/byte-source.js';
import type { ByteSource } from '../../src/model/parser.js';
import { MIB } from '../../src/model/units.js';
import { scratchDirectory } from '../store/scratch.js';

export function put(content: Uint8Array, path = join(scratchDirectory(), 'file')): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** Incompressible but reproducible. */
export function noise(length: number): Buffer {
  const random = createRandom(length);
  return Buffer.from(Uint8Array.from({ length }, () => random() * 256));
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Reads into a window of this size, at an offset. */
export async function readAll(source: ByteSource, windowBytes = 100_000, into: Buffer[] = []): Promise<Buffer> {
  const window = new Uint8Array(windowBytes + 3);
  for (;;) {
    const count = await source.read(window, 3);
    if (count === 0) return Buffer.concat(into);
    into.push(Buffer.from(window.subarray(3, 3 + count)));
  }
}

/** What a file gives before its end, or before the error that ends it. */
export async function read(content: Uint8Array, options: ByteSourceOptions = {}, windowBytes = MIB, peeks = false) {
  const opened = await openByteSource(put(content), options);
  try {
    const parts: Buffer[] = [];
    const head = peeks ? await opened.head() : undefined;
    const error: unknown = await readAll(opened.source, windowBytes, parts).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const { hex: digest } = await opened.finish();
    return { head, bytes: Buffer.concat(parts), error, digest, compression: opened.compression, notes: opened.notes() };
  } finally {
    await opened.close();
  }
}

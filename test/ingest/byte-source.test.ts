import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ByteSourceOptions, HEAD_BYTES, hashFile, openByteSource } from '../../src/ingest/byte-source.js';
import { detect } from '../../src/ingest/detect.js';
import type { ByteSource } from '../../src/model/parser.js';
import { GIB, MIB } from '../../src/model/units.js';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'mbf-bytes-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function put(content: Uint8Array, name = 'file'): string {
  const path = join(base, name);
  writeFileSync(path, content);
  return path;
}

/** Incompressible but reproducible. */
function noise(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed;
  for (let i = 0; i < length; i += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Reads to the end into a window of the given size, at an offset, as a parser does. */
async function readAll(source: ByteSource, windowBytes = 100_000): Promise<Buffer> {
  const parts: Buffer[] = [];
  const window = new Uint8Array(windowBytes + 3);
  for (;;) {
    const count = await source.read(window, 3);
    if (count === 0) return Buffer.concat(parts);
    parts.push(Buffer.from(window.subarray(3, 3 + count)));
  }
}

async function roundTrip(path: string, options: ByteSourceOptions, windowBytes: number, peek: boolean) {
  const opened = await openByteSource(path, options);
  try {
    const head = peek ? await opened.head() : undefined;
    const bytes = await readAll(opened.source, windowBytes);
    return { head, bytes, digest: await opened.finish(), compression: opened.compression };
  } finally {
    await opened.close();
  }
}

async function failure(path: string, options: ByteSourceOptions = {}) {
  const opened = await openByteSource(path, options);
  let readBytes = 0;
  try {
    const window = new Uint8Array(MIB);
    for (;;) {
      const count = await opened.source.read(window, 0);
      if (count === 0) break;
      readBytes += count;
    }
    await opened.finish();
    return { readBytes, error: undefined };
  } catch (error) {
    return { readBytes, error };
  } finally {
    await opened.close();
  }
}

describe('whatever the chunk and window sizes', () => {
  const content = noise(300_000);
  const members = Buffer.concat([gzipSync(content.subarray(0, 1000)), gzipSync(content.subarray(1000))]);
  const shapes = [
    { name: 'plain', onDisk: content, chunks: [997, 4096, 65536, 4 * MIB] },
    { name: 'gzip', onDisk: gzipSync(content), chunks: [997, 65536, 4 * MIB] },
    // 23 divides nothing here, so that headers and trailers are cut at many places.
    { name: 'gzip of two members', onDisk: members, chunks: [23, 4 * MIB] },
    {
      name: 'gzip padded with zeros',
      onDisk: Buffer.concat([gzipSync(content), Buffer.alloc(5000)]),
      chunks: [997, 4 * MIB],
    },
  ];
  for (const { name, onDisk, chunks } of shapes) {
    for (const chunkBytes of chunks) {
      it(`${name} in chunks of ${chunkBytes} comes out whole, peeked at or not`, async () => {
        const path = put(onDisk);
        for (const [windowBytes, peek] of [
          [777, true],
          [MIB, false],
        ] as const) {
          const got = await roundTrip(path, { chunkBytes }, windowBytes, peek);
          expect(got.bytes.equals(content)).toBe(true);
          expect(got.digest).toBe(sha256(onDisk));
          expect(got.compression).toBe(name.startsWith('gzip') ? 'gzip' : 'none');
          if (peek) expect(Buffer.from(got.head ?? []).equals(content.subarray(0, HEAD_BYTES))).toBe(true);
        }
      });
    }
  }

  it('a file of several full chunks comes out whole', async () => {
    const large = Buffer.concat([content, content, content]).subarray(0, 3 * 256 * 1024);
    const got = await roundTrip(put(large), { chunkBytes: 256 * 1024 }, 100_000, true);
    expect(got.bytes.equals(large)).toBe(true);
    expect(got.digest).toBe(sha256(large));
  });
});

describe('the head', () => {
  it('is all of a small file, may be asked for twice, and outlives reading', async () => {
    const content = Buffer.from('short');
    const opened = await openByteSource(put(content));
    const head = await opened.head();
    await readAll(opened.source);
    expect(Buffer.from(head).toString()).toBe('short');
    expect(await opened.head()).toBe(head);
    await opened.close();
  });

  it('of an empty file is empty, and so is the rest', async () => {
    for (const onDisk of [Buffer.alloc(0), gzipSync(Buffer.alloc(0))]) {
      const got = await roundTrip(put(onDisk), {}, 10, true);
      expect([got.head?.length, got.bytes.length, got.digest]).toEqual([0, 0, sha256(onDisk)]);
    }
  });

  it('classifies a terabyte of zeros without reading it', async () => {
    const path = join(base, 'snapshot.pickle');
    const file = openSync(path, 'w');
    ftruncateSync(file, 1024 * GIB); // sparse; to read it would take ten minutes
    closeSync(file);
    const opened = await openByteSource(path);
    const detection = detect([], { bytes: await opened.head(), name: 'snapshot.pickle', sizeBytes: opened.sizeBytes });
    await opened.close();
    expect(detection.status === 'failed' && detection.error.code).toBe('MBF2006');
  });

  it('of a file that merely looks like gzip at first is its own bytes', async () => {
    const content = Buffer.from([0x1f, 0x8b, 0x00, 0x01]);
    expect((await roundTrip(put(content), {}, 10, true)).bytes.equals(content)).toBe(true);
  });
});

describe('identity', () => {
  it('covers the bytes a parser left unread, plain and gzip', async () => {
    const content = noise(2 * MIB);
    for (const onDisk of [content, gzipSync(content), gzipSync(Buffer.alloc(40 * MIB))]) {
      const opened = await openByteSource(put(onDisk), { chunkBytes: 10_000 });
      await opened.source.read(new Uint8Array(100), 0);
      expect(() => opened.sha256()).toThrow(/before finish/);
      expect(await opened.finish()).toBe(sha256(onDisk));
      expect(opened.sha256()).toBe(sha256(onDisk));
      await expect(opened.source.read(new Uint8Array(1), 0)).rejects.toThrow(/after finish/);
      await opened.close();
    }
  });

  it('of a damaged gzip file is still detected', async () => {
    const onDisk = gzipSync(noise(MIB)).subarray(0, 500_000);
    const opened = await openByteSource(put(onDisk));
    await expect(readAll(opened.source)).rejects.toMatchObject({ code: 'MBF2006' });
    expect(await opened.finish()).toBe(sha256(onDisk));
    await opened.close();
  });

  it('can be asked for alone', async () => {
    const content = noise(700_000);
    expect(await hashFile(put(content), { chunkBytes: 65536 })).toBe(sha256(content));
    expect(await hashFile(put(Buffer.alloc(0)))).toBe(sha256(Buffer.alloc(0)));
  });
});

describe('damage', () => {
  it('a cut gzip file gives what it holds, then MBF2006 with the offset', async () => {
    const content = noise(600_000);
    const path = put(gzipSync(content).subarray(0, 400_000));
    const opened = await openByteSource(path);
    expect(Buffer.from(await opened.head()).equals(content.subarray(0, HEAD_BYTES))).toBe(true);
    await opened.close();

    const { readBytes, error } = await failure(path);
    expect(readBytes).toBeGreaterThan(390_000);
    expect(error).toMatchObject({ code: 'MBF2006', place: { offset: readBytes } });
    expect(String(error)).toContain('400000 compressed bytes');
  });

  it('a small cut gzip file still shows its head', async () => {
    const text = Buffer.from('iteration 1/10\n'.repeat(100));
    const path = put(gzipSync(text).subarray(0, -8));
    const opened = await openByteSource(path);
    expect(Buffer.from(await opened.head()).equals(text)).toBe(true);
    await expect(readAll(opened.source)).rejects.toMatchObject({ code: 'MBF2006' });
    await opened.close();
  });

  it('a gzip header alone is MBF2006 from the head on', async () => {
    const opened = await openByteSource(put(gzipSync(Buffer.from('x')).subarray(0, 10)));
    await expect(opened.head()).rejects.toMatchObject({ code: 'MBF2006' });
    await expect(readAll(opened.source)).rejects.toMatchObject({ code: 'MBF2006' });
    await opened.close();
  });

  it('flipped bits and bad check sums are MBF2006', async () => {
    const content = noise(600_000);
    const flipped = Buffer.from(gzipSync(content));
    flipped.fill(0xff, 300_000, 300_100);
    const unsummed = Buffer.from(gzipSync(content));
    unsummed[unsummed.length - 6] = (unsummed[unsummed.length - 6] ?? 0) ^ 1;
    for (const onDisk of [flipped, unsummed]) {
      expect(() => gunzipSync(onDisk)).toThrow();
      expect((await failure(put(onDisk))).error).toMatchObject({ code: 'MBF2006' });
    }
  });
});

describe('inflation', () => {
  const bomb = gzipSync(Buffer.alloc(20 * MIB)); // about 1000 : 1

  it('at any ratio is fine below the floor', async () => {
    expect(await failure(put(bomb))).toEqual({ readBytes: 20 * MIB, error: undefined });
  });

  it('above the floor is limited in ratio', async () => {
    const { readBytes, error } = await failure(put(bomb), { ratioFloorBytes: 4 * MIB });
    expect(error).toMatchObject({ code: 'MBF2005' });
    expect(readBytes).toBeLessThan(6 * MIB);
  });

  it('above the floor is fine at an honest ratio', async () => {
    const honest = gzipSync(noise(6 * MIB));
    expect((await failure(put(honest), { ratioFloorBytes: MIB })).error).toBeUndefined();
  });

  it('is limited in size', async () => {
    const { error } = await failure(put(gzipSync(noise(3 * MIB))), { maxInflatedBytes: 2 * MIB });
    expect(error).toMatchObject({ code: 'MBF2005', place: { offset: 2 * MIB } });
  });
});

describe('a file that changes', () => {
  const changes: readonly (readonly [string, (path: string) => void])[] = [
    ['grows', (path) => appendFileSync(path, 'more')],
    ['is cut', (path) => truncateSync(path, 300_000)],
    ['is touched', (path) => utimesSync(path, 1, 1)],
  ];
  for (const [what, change] of changes) {
    it(`and ${what} is MBF2009`, async () => {
      const path = put(noise(MIB));
      const opened = await openByteSource(path, { chunkBytes: 65536 });
      await opened.source.read(new Uint8Array(10), 0);
      change(path);
      await expect(readAll(opened.source).then(() => opened.finish())).rejects.toMatchObject({ code: 'MBF2009' });
      await opened.close();
    });
  }

  it('by growing gives no more than it had', async () => {
    const content = noise(MIB);
    const path = put(content);
    const opened = await openByteSource(path, { chunkBytes: 65536 });
    await opened.source.read(new Uint8Array(10), 0);
    appendFileSync(path, 'more');
    expect((await readAll(opened.source)).length).toBe(MIB - 10);
    await opened.close();
  });
});

describe('what cannot be opened', () => {
  it('is MBF2007', async () => {
    await expect(openByteSource(join(base, 'absent'))).rejects.toMatchObject({ code: 'MBF2007' });
    await expect(openByteSource(base)).rejects.toMatchObject({ code: 'MBF2007' });
    await expect(hashFile(join(base, 'absent'))).rejects.toMatchObject({ code: 'MBF2007' });
  });

  it.skipIf(process.platform === 'win32')('a pipe does not hang', async () => {
    execFileSync('mkfifo', [join(base, 'fifo')]);
    await expect(openByteSource(join(base, 'fifo'))).rejects.toMatchObject({ code: 'MBF2007' });
  });
});

it('refuses an empty window, because 0 means the end', async () => {
  const opened = await openByteSource(put(noise(10)));
  await expect(opened.source.read(new Uint8Array(4), 4)).rejects.toThrow(RangeError);
  await opened.close();
});

it('may be closed at any moment, and twice', async () => {
  for (const onDisk of [noise(MIB), gzipSync(noise(MIB))]) {
    const path = put(onDisk);
    const untouched = await openByteSource(path, { chunkBytes: 10_000 });
    await untouched.close();
    await untouched.close();
    const busy = await openByteSource(path, { chunkBytes: 300_000 });
    await busy.source.read(new Uint8Array(300_001), 0);
    await busy.source.read(new Uint8Array(300_001), 0);
    await busy.close();
  }
});

describe('a file large enough for a second core to hash', () => {
  const content = Buffer.concat([noise(3 * MIB), Buffer.alloc(62 * MIB), noise(MIB)]);
  const expected = createHash('sha256').update(content).digest('hex');

  it('has the same hash whether it was read to the end, in part, or not at all', async () => {
    const path = put(content);
    for (const reads of [1000, 3, 0]) {
      const opened = await openByteSource(path);
      const window = new Uint8Array(4 * MIB);
      for (let i = 0; i < reads; i++) if ((await opened.source.read(window, 0)) === 0) break;
      expect(await opened.finish()).toBe(expected);
      await opened.close();
    }
    expect(await hashFile(path)).toBe(expected);
  });

  it('may be closed while the thread is hashing', async () => {
    const opened = await openByteSource(put(content));
    const window = new Uint8Array(4 * MIB);
    for (let i = 0; i < 3; i++) await opened.source.read(window, 0);
    await opened.close();
  });

  it('is found changed if it shrinks meanwhile', async () => {
    const path = put(content);
    const opened = await openByteSource(path);
    const window = new Uint8Array(4 * MIB);
    for (let i = 0; i < 2; i++) await opened.source.read(window, 0);
    truncateSync(path, 10 * MIB);
    await expect(opened.finish()).rejects.toMatchObject({ code: 'MBF2009' });
    await opened.close();
  });
});

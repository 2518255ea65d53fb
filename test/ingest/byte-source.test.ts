import { execFileSync } from 'node:child_process';
import { appendFileSync, closeSync, ftruncateSync, openSync, truncateSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { detect } from '../../src/ingest/discover/detect.js';
import { HEAD_BYTES, hashFile, openByteSource } from '../../src/ingest/read/byte-source.js';
import { WHOLE_BYTES } from '../../src/ingest/read/file-digest.js';
import { GIB, MIB } from '../../src/model/units.js';
import { scratchDirectory } from '../store/scratch.js';
import { noise, put, read, readAll, sha256 } from './read-source.js';

describe('whatever the chunk and window sizes', () => {
  const content = noise(300_000);
  const members = Buffer.concat([gzipSync(content.subarray(0, 1000)), gzipSync(content.subarray(1000))]);
  const shapes: readonly (readonly [string, Buffer, readonly number[]])[] = [
    ['plain', content, [997, 4096, 65536, 4 * MIB]],
    ['gzip', gzipSync(content), [997, 65536, 4 * MIB]],
    // 23 divides nothing here, so that headers and trailers are cut at many places.
    ['gzip of two members', members, [23, 4 * MIB]],
    ['gzip padded with zeros', Buffer.concat([gzipSync(content), Buffer.alloc(5000)]), [997, 4 * MIB]],
  ];
  const cases = shapes.flatMap(([name, onDisk, chunks]) => chunks.map((chunkBytes) => ({ name, chunkBytes, onDisk })));

  it.each(cases)('$name in chunks of $chunkBytes comes out whole, peeked at or not', async (shape) => {
    const { name, chunkBytes, onDisk } = shape;
    for (const [windowBytes, peeks] of [
      [777, true],
      [MIB, false],
    ] as const) {
      const got = await read(onDisk, { chunkBytes }, windowBytes, peeks);
      expect([got.error, got.digest]).toEqual([undefined, sha256(onDisk)]);
      expect(got.bytes.equals(content)).toBe(true);
      expect(got.compression).toBe(name.startsWith('gzip') ? 'gzip' : 'none');
      if (peeks) expect(Buffer.from(got.head ?? []).equals(content.subarray(0, HEAD_BYTES))).toBe(true);
    }
  });

  it('a file of several full chunks comes out whole', async () => {
    const large = Buffer.concat([content, content, content]).subarray(0, 3 * 256 * 1024);
    const got = await read(large, { chunkBytes: 256 * 1024 }, 100_000, true);
    expect(got.bytes.equals(large)).toBe(true);
    expect(got.digest).toBe(sha256(large));
  });
});

describe('the head', () => {
  it('is all of a small file, may be asked for twice, and outlives reading', async () => {
    const opened = await openByteSource(put(Buffer.from('short')));
    const head = await opened.head();
    await readAll(opened.source);
    expect(Buffer.from(head).toString()).toBe('short');
    expect(await opened.head()).toBe(head);
    await opened.close();
  });

  it('of an empty file is empty, and so is the rest', async () => {
    for (const onDisk of [Buffer.alloc(0), gzipSync(Buffer.alloc(0))]) {
      const got = await read(onDisk, {}, 10, true);
      expect([got.head?.length, got.bytes.length, got.digest]).toEqual([0, 0, sha256(onDisk)]);
    }
  });

  it('classifies a terabyte of zeros without reading it', async () => {
    const path = join(scratchDirectory(), 'snapshot.pickle');
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
    expect((await read(content, {}, 10, true)).bytes.equals(content)).toBe(true);
  });
});

describe('identity', () => {
  it('covers the bytes a parser left unread, plain and gzip', async () => {
    const content = noise(2 * MIB);
    for (const onDisk of [content, gzipSync(content), gzipSync(Buffer.alloc(40 * MIB))]) {
      const opened = await openByteSource(put(onDisk), { chunkBytes: 10_000 });
      await opened.source.read(new Uint8Array(100), 0);
      expect(await opened.finish()).toEqual({ of: 'whole', hex: sha256(onDisk) });
      expect(await opened.finish()).toEqual({ of: 'whole', hex: sha256(onDisk) });
      await expect(opened.source.read(new Uint8Array(1), 0)).rejects.toThrow(/after finish/);
      await opened.close();
    }
  });

  it('of a damaged gzip file is still detected', async () => {
    const onDisk = gzipSync(noise(MIB)).subarray(0, 500_000);
    expect(await read(onDisk)).toMatchObject({ error: { code: 'MBF2006' }, digest: sha256(onDisk) });
  });

  it('can be asked for alone', async () => {
    const content = noise(700_000);
    expect(await hashFile(put(content), { chunkBytes: 65536 })).toEqual({ of: 'whole', hex: sha256(content) });
    expect(await hashFile(put(Buffer.alloc(0)))).toEqual({ of: 'whole', hex: sha256(Buffer.alloc(0)) });
  });
});

describe('damage', () => {
  it('a cut gzip file gives what it holds, then MBF2006 with the offset', async () => {
    const content = noise(600_000);
    const { head, bytes, error } = await read(gzipSync(content).subarray(0, 400_000), {}, MIB, true);
    expect(Buffer.from(head!).equals(content.subarray(0, HEAD_BYTES))).toBe(true);
    expect(bytes.length).toBeGreaterThan(390_000);
    expect(error).toMatchObject({ code: 'MBF2006', place: { offset: bytes.length } });
    expect(String(error)).toContain('400000 compressed bytes');
  });

  it('a small cut gzip file still shows its head', async () => {
    const text = Buffer.from('iteration 1/10\n'.repeat(100));
    const { head, error } = await read(gzipSync(text).subarray(0, -8), {}, MIB, true);
    expect(Buffer.from(head!).equals(text)).toBe(true);
    expect(error).toMatchObject({ code: 'MBF2006' });
  });

  it('a gzip header alone is MBF2006 from the head on', async () => {
    const opened = await openByteSource(put(gzipSync(Buffer.from('x')).subarray(0, 10)));
    await expect(opened.head()).rejects.toMatchObject({ code: 'MBF2006' });
    await expect(readAll(opened.source)).rejects.toMatchObject({ code: 'MBF2006' });
    await opened.close();
  });

  it('flipped bits and bad check sums are MBF2006', async () => {
    const content = noise(600_000);
    const flipped = Buffer.from(gzipSync(content)).fill(0xff, 300_000, 300_100);
    const unsummed = Buffer.from(gzipSync(content));
    unsummed[unsummed.length - 6] = (unsummed[unsummed.length - 6] ?? 0) ^ 1;
    for (const onDisk of [flipped, unsummed]) {
      expect(() => gunzipSync(onDisk)).toThrow();
      expect((await read(onDisk)).error).toMatchObject({ code: 'MBF2006' });
    }
  });
});

describe('a file that changes', () => {
  it.each<readonly [string, (path: string) => void]>([
    ['grows', (path) => appendFileSync(path, 'more')],
    ['is cut', (path) => truncateSync(path, 300_000)],
    ['is touched', (path) => utimesSync(path, 1, 1)],
  ])('and %s is MBF2009', async (what, change) => {
    const path = put(noise(MIB));
    const opened = await openByteSource(path, { chunkBytes: 65536 });
    await opened.source.read(new Uint8Array(10), 0);
    change(path);
    const reading = readAll(opened.source);
    // By growing it gives no more than it had.
    if (what === 'grows') expect((await reading).length).toBe(MIB - 10);
    await expect(reading.then(() => opened.finish())).rejects.toMatchObject({ code: 'MBF2009' });
    await opened.close();
  });
});

describe('what cannot be opened', () => {
  it('is MBF2007', async () => {
    const base = scratchDirectory();
    await expect(openByteSource(join(base, 'absent'))).rejects.toMatchObject({ code: 'MBF2007' });
    await expect(openByteSource(base)).rejects.toMatchObject({ code: 'MBF2007' });
    await expect(hashFile(join(base, 'absent'))).rejects.toMatchObject({ code: 'MBF2007' });
  });

  it.skipIf(process.platform === 'win32')('a pipe does not hang', async () => {
    const path = join(scratchDirectory(), 'fifo');
    execFileSync('mkfifo', [path]);
    await expect(openByteSource(path)).rejects.toMatchObject({ code: 'MBF2007' });
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
    for (let i = 0; i < 2; i += 1) await busy.source.read(new Uint8Array(300_001), 0);
    await busy.close();
  }
});

describe('a file of which a sample is hashed', () => {
  const content = Buffer.concat([noise(3 * MIB), Buffer.alloc(WHOLE_BYTES), noise(MIB)]);

  /** Opened, after so many reads of 4 MiB or at its end. */
  async function openedAfter(path: string, reads: number) {
    const opened = await openByteSource(path);
    const window = new Uint8Array(4 * MIB);
    for (let i = 0; i < reads; i++) if ((await opened.source.read(window, 0)) === 0) break;
    return opened;
  }

  it('has the same digest whether it was read to the end, in part, or not at all', async () => {
    const path = put(content);
    const digest = await hashFile(path);
    expect(digest.of).toBe('sample');
    for (const reads of [1000, 3, 0]) {
      const opened = await openedAfter(path, reads);
      expect(await opened.finish()).toEqual(digest);
      await opened.close();
    }
  });

  it('begins one byte above those that are hashed whole', async () => {
    for (const [bytes, of] of [
      [WHOLE_BYTES, 'whole'],
      [WHOLE_BYTES + 1, 'sample'],
    ] as const)
      expect((await hashFile(put(Buffer.alloc(bytes)))).of).toBe(of);
  });

  it('has another digest if its size, its first or its last byte is another', async () => {
    const digests = new Set([(await hashFile(put(content))).hex]);
    for (const at of [0, content.length - 1]) {
      const changed = Buffer.from(content);
      changed[at]! ^= 1;
      digests.add((await hashFile(put(changed))).hex);
    }
    digests.add((await hashFile(put(Buffer.concat([content, Buffer.alloc(1)])))).hex);
    expect(digests.size).toBe(4);
  });

  it('is found changed if it shrinks meanwhile', async () => {
    const path = put(content);
    const opened = await openedAfter(path, 2);
    truncateSync(path, 10 * MIB);
    await expect(opened.finish()).rejects.toMatchObject({ code: 'MBF2009' });
    await opened.close();
  });
});

/**
 * Zstandard input is read as gzip is. Frames made here hold stored blocks; the compressed block was made with zstd
 * 1.5.4.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import { HEAD_BYTES, openByteSource } from '../../src/ingest/read/byte-source.js';
import { KIB, MIB } from '../../src/model/units.js';
import { seeded } from '../robustness/harness.js';
import { scratchDirectory } from '../store/scratch.js';
import { runs } from '../support/level.js';
import { skipLoudly } from '../support/levels/skip-loudly.js';
import { newStore } from '../support/new-store.js';
import { BASE, smallSnapshot } from '../support/small-snapshot.js';
import { noise, put, read as readSource, sha256 } from './read-source.js';

/** A decoder that has failed too often is not used any more: then the file cannot be opened. */
const read: typeof readSource = (...args) =>
  readSource(...args).catch((error: unknown) => {
    return { head: undefined, bytes: Buffer.alloc(0), error, digest: '', compression: 'none', notes: [] };
  });

// ---- frames ------------------------------------------------------------------------------------------------------

const MAGIC = Buffer.from('28b52ffd', 'hex');
/** A window of 128 KiB, no length, no check sum. */
const PLAIN_HEADER = Buffer.concat([MAGIC, Buffer.from('0038', 'hex')]);

function block(type: 'stored' | 'repeated', size: number, content: Uint8Array, isLast = false): Buffer {
  const word = (size << 3) | (type === 'stored' ? 0 : 2) | (isLast ? 1 : 0);
  return Buffer.concat([Buffer.from([word & 0xff, (word >> 8) & 0xff, word >> 16]), content]);
}

const LAST = block('stored', 0, Buffer.alloc(0), true);

function stored(content: Uint8Array, blockBytes = 128 * KIB): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < content.length; at += blockBytes) {
    const piece = content.subarray(at, at + blockBytes);
    blocks.push(block('stored', piece.length, piece));
  }
  return Buffer.concat([PLAIN_HEADER, ...blocks, LAST]);
}

/** Zeros, in four bytes for each 128 KiB. */
function zeros(mebibytes: number): Buffer {
  const run = block('repeated', 128 * KIB, Buffer.alloc(1));
  return Buffer.concat([PLAIN_HEADER, ...Array.from({ length: mebibytes * 8 }, () => run), LAST]);
}

function skippable(content: Uint8Array, variant = 0): Buffer {
  const header = Buffer.from([0x50 + variant, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);
  header.writeUInt32LE(content.length, 4);
  return Buffer.concat([header, content]);
}

const TEXT = Buffer.from(
  Array.from({ length: 40 }, (_, i) => `iteration ${i}/40 | lm loss: ${(10 / (i + 1)).toFixed(4)}\n`).join(''),
);
const BODY = Buffer.from(
  'dQYAIkweFaCpDQdVN8spA4D4aWX35pYUBgQyRoCN6RLXnnprrioq7tUlu29Dq0oz/3/auy1FPWvm7dH2adb3bnhYlno22+lpm4hqu5hGw7pf3VKq/d+q5IRsp1obTXPtUjMT' +
    'FfoQ2Y9uWICR6wjLkhjnME5zfIEPkhTMoBBMEVGoMYjDXqz/BsCXGgMgwgqiAiGxBywNhRZhJp9qDYqnfNSUXteiIiZt2NBYektNWMzmdtJKnSk7s1ytllRfTasv2I1UCwFo' +
    'irhg0oujvJpAVAE=',
  'base64',
);
const CHECK_SUM = Buffer.from('cc7cb90b', 'hex');
/** {@link TEXT} with its length and a check sum, with a window of 8 MiB and a check sum, and with its length alone. */
const SIZED = Buffer.concat([MAGIC, Buffer.from('644704', 'hex'), BODY, CHECK_SUM]);
const STREAMED = Buffer.concat([MAGIC, Buffer.from('0468', 'hex'), BODY, CHECK_SUM]);
const UNCHECKED = Buffer.concat([MAGIC, Buffer.from('604704', 'hex'), BODY]);

describe('whatever the chunk and window sizes', () => {
  const content = noise(runs(70_000, 140_000));
  const shapes: readonly (readonly [string, Buffer, Buffer])[] = [
    ['stored blocks', stored(content), content],
    ['small blocks', stored(content.subarray(0, 20_000), 100), content.subarray(0, 20_000)],
    ['a compressed block', SIZED, TEXT],
    ['a compressed block in a large window', STREAMED, TEXT],
    ['several frames', Buffer.concat([SIZED, stored(content), UNCHECKED]), Buffer.concat([TEXT, content, TEXT])],
    [
      'frames to skip',
      Buffer.concat([skippable(noise(999)), SIZED, skippable(Buffer.alloc(0), 15), UNCHECKED, skippable(noise(7), 3)]),
      Buffer.concat([TEXT, TEXT]),
    ],
    ['a repeated byte', zeros(1), Buffer.alloc(MIB)],
    ['nothing', stored(Buffer.alloc(0)), Buffer.alloc(0)],
    ['nothing, and then something', Buffer.concat([stored(Buffer.alloc(0)), SIZED]), TEXT],
  ];
  it.each(shapes)('%s come out whole', async (_, onDisk, expected) => {
    for (const chunkBytes of [13, 997, 65536, 4 * MIB]) {
      for (const windowBytes of [777, MIB]) {
        const got = await read(onDisk, { chunkBytes }, windowBytes);
        expect([got.error, got.compression, got.digest]).toEqual([undefined, 'zstd', sha256(onDisk)]);
        expect(got.bytes.equals(expected)).toBe(true);
      }
    }
  });

  it('the head is what comes out first, and may be all that is asked for', async () => {
    for (let round = 0; round < 3; round++) {
      const opened = await openByteSource(put(stored(content)));
      expect(Buffer.from(await opened.head()).equals(content.subarray(0, HEAD_BYTES))).toBe(true);
      await opened.close();
    }
  });

  it('a file of four other bytes, or of the first three, is not zstd', async () => {
    for (const onDisk of [Buffer.from('28b52ffc', 'hex'), MAGIC.subarray(0, 3)]) {
      expect(await read(onDisk)).toMatchObject({ compression: 'none', bytes: onDisk });
    }
  });
});

describe('check sums', () => {
  it('are verified: of many bits turned over in a file with one, none goes unnoticed', async () => {
    let noticed = 0;
    for (let at = 4; at < SIZED.length; at += 2) {
      const bytes = Buffer.from(SIZED);
      bytes[at]! ^= 1 << (at % 8);
      const { bytes: got, error } = await read(bytes);
      // A few bits mean nothing, such as the padding of a bit stream.
      if (error === undefined) expect(got.equals(TEXT)).toBe(true);
      else {
        noticed += 1;
        expect(error, `byte ${at}`).toMatchObject({ code: expect.stringMatching(/MBF2006|MBF2010/) });
      }
    }
    expect(noticed).toBeGreaterThan(90);
    const wrong = Buffer.concat([SIZED.subarray(0, -4), Buffer.alloc(4)]);
    expect((await read(wrong)).error).toMatchObject({ code: 'MBF2006' });
  });

  it('that are missing are reported', async () => {
    expect((await read(UNCHECKED)).notes).toEqual([expect.objectContaining({ kind: 'zstd_unchecked' })]);
    expect((await read(Buffer.concat([SIZED, STREAMED]))).notes).toEqual([]);
    expect((await read(Buffer.concat([SIZED, UNCHECKED]))).notes).toHaveLength(1);
  });
});

describe('damage', () => {
  it('a file cut anywhere gives the blocks it holds, then MBF2006 with the offset and the length', async () => {
    const content = noise(40_000);
    const complete = Buffer.concat([SIZED, stored(content, 10_000)]);
    const sized = SIZED.length;
    for (const length of [5, 6, 9, 60, sized - 1, sized + 3, sized + 9, 30_000, complete.length - 1]) {
      const { bytes, error } = await read(complete.subarray(0, length));
      expect(error, `${length}`).toMatchObject({ code: 'MBF2006', place: { offset: bytes.length } });
      expect(String(error)).toContain(`ends in the middle, after ${length} compressed bytes`);
      expect(Buffer.concat([TEXT, content]).subarray(0, bytes.length).equals(bytes)).toBe(true);
      if (length === 30_000) expect(bytes.length).toBe(TEXT.length + 20_000);
    }
    expect((await read(complete.subarray(0, SIZED.length))).error).toBeUndefined();
  });

  it('a cut file still shows its head', async () => {
    const content = noise(200_000);
    const opened = await openByteSource(put(stored(content).subarray(0, 180_000)));
    expect(Buffer.from(await opened.head()).equals(content.subarray(0, HEAD_BYTES))).toBe(true);
    await opened.close();
  });

  it.each([
    ['zeros behind the last frame', Buffer.concat([SIZED, Buffer.alloc(16)]), TEXT.length],
    ['another format behind the last frame', Buffer.concat([SIZED, Buffer.from('\x1f\x8b\x08\0\0\0')]), TEXT.length],
    ['a block of a reserved type', Buffer.concat([PLAIN_HEADER, Buffer.from('0f0000', 'hex')]), 0],
    ['a block larger than its window', Buffer.concat([PLAIN_HEADER, block('repeated', 128 * KIB + 1, TEXT)]), 0],
    ['a reserved bit of a frame header', Buffer.concat([MAGIC, Buffer.from('0838', 'hex'), LAST]), 0],
    ['a block that is nonsense', Buffer.concat([PLAIN_HEADER, Buffer.from('250000ffffffff', 'hex')]), 0],
    ['a length that is not kept', Buffer.concat([MAGIC, Buffer.from('644804', 'hex'), BODY, CHECK_SUM]), undefined],
  ])('%s is MBF2006', async (_, onDisk, offset) => {
    const { error } = await read(onDisk);
    expect(error).toMatchObject({ code: 'MBF2006', ...(offset === undefined ? {} : { place: { offset } }) });
  });
});

describe('what is not read', () => {
  it('a dictionary is asked for by its number', async () => {
    const { error } = await read(Buffer.from('28b52ffd27bc771c721975000028373237380a0230e77103df1e8087e4df81', 'hex'));
    expect(error).toMatchObject({ code: 'MBF2010', message: expect.stringContaining('dictionary 1914468284') });
  });

  it('a window beyond 128 MiB is refused before it is made', async () => {
    const before = process.memoryUsage().rss;
    for (const header of ['0090', '00ff', 'e0ffffffffffffffff', 'a000000080']) {
      const { error } = await read(Buffer.concat([MAGIC, Buffer.from(header, 'hex'), LAST]));
      expect(error, header).toMatchObject({ code: 'MBF2010', message: expect.stringContaining('--long=31') });
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * MIB);
  });

  it('a window of 128 MiB costs nothing until it is filled', async () => {
    const small = Buffer.concat([MAGIC, Buffer.from('0088', 'hex'), block('stored', TEXT.length, TEXT, true)]);
    const before = process.memoryUsage().rss;
    expect((await read(Buffer.concat(Array.from({ length: 1000 }, () => small)))).bytes.length).toBe(
      1000 * TEXT.length,
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * MIB);
  });
});

describe.each([
  // About 1000 : 1.
  ['gzip', gzipSync(Buffer.alloc(20 * MIB)), (content: Buffer) => gzipSync(content)],
  ['zstd', zeros(20), (content: Buffer) => stored(content)],
] as const)('inflation of %s', (format, bomb, packed) => {
  it('at any ratio is fine below the floor', async () => {
    const { bytes, error } = await read(bomb);
    expect([bytes.length, error]).toEqual([20 * MIB, undefined]);
  });

  it('above the floor is limited in ratio', async () => {
    const { bytes, error } = await read(bomb, { ratioFloorBytes: 4 * MIB });
    expect(error).toMatchObject({ code: 'MBF2005', message: expect.stringContaining(`of ${format} inflated to`) });
    expect(bytes.length).toBeLessThan(6 * MIB);
  });

  it('above the floor is fine at an honest ratio', async () => {
    expect((await read(packed(noise(6 * MIB)), { ratioFloorBytes: MIB })).error).toBeUndefined();
  });

  it('is limited in size', async () => {
    const { error } = await read(packed(noise(3 * MIB)), { maxInflatedBytes: 2 * MIB });
    expect(error).toMatchObject({ code: 'MBF2005', place: { offset: 2 * MIB } });
  });
});

describe('ingested', () => {
  const OOM_LINE =
    '[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.00 GiB is free.\n';

  it('gives the same rows, ranks and failures as the plain file', async () => {
    const root = scratchDirectory();
    const putAs = (content: Uint8Array, name: string): string => put(content, join(root, name));
    const bytes = smallSnapshot({ entries: [{ action: 'alloc', addr: BASE, size: 512 }] });
    putAs(bytes, 'run/plain/snapshot_5.pickle');
    putAs(stored(bytes), 'run/packed/snapshot_5.pickle.zst');
    putAs(stored(Buffer.from(OOM_LINE)), 'run/train.log.zst');
    putAs(stored(bytes).subarray(0, -40), 'run/cut/snapshot_6.pickle.zst');
    const dictionary = putAs(Buffer.concat([MAGIC, Buffer.from('010538', 'hex'), LAST]), 'run/with-dictionary.log.zst');
    putAs(stored(stored(TEXT)), 'run/twice.log.zst.zst');
    const store = await newStore(join(root, 'store.duckdb'));
    try {
      const run = (path: string) => ingest({ rowsOnly: true, store, parsers: PARSERS, paths: [path], now: new Date() });
      const { sources } = await run(join(root, 'run'));
      expect(
        sources.map(({ path, status, rank, error, notes }) => {
          const unchecked = notes.some((note) => note.kind === 'zstd_unchecked') ? ' unchecked' : '';
          return `${path} ${status} ${error?.code ?? rank}${unchecked}`;
        }),
      ).toEqual([
        'cut/snapshot_6.pickle.zst failed MBF2006',
        'packed/snapshot_5.pickle.zst ingested 5 unchecked',
        'plain/snapshot_5.pickle ingested 5',
        'train.log.zst ingested 3 unchecked',
        'twice.log.zst.zst skipped MBF2010',
        'with-dictionary.log.zst skipped MBF2010',
      ]);
      const rows = await store.select('SELECT * EXCLUDE (snapshot_id) FROM event ORDER BY snapshot_id');
      expect(rows).toHaveLength(2);
      expect(rows[0]).toEqual(rows[1]);
      expect((await run(dictionary)).sources[0]).toMatchObject({ status: 'failed', error: { code: 'MBF2010' } });
    } finally {
      await store.close();
    }
  });
});

describe('what the zstd program writes', () => {
  if (spawnSync('zstd', ['--version']).status !== 0) {
    skipLoudly('what the zstd program writes', 'the zstd program');
    return;
  }
  const zstd = (args: readonly string[], input: Buffer): Buffer => {
    const { status, stdout, stderr } = spawnSync('zstd', ['-q', '-c', ...args], { input, maxBuffer: 2 ** 28 });
    if (status !== 0) throw new Error(String(stderr));
    return stdout;
  };
  /** Half text that repeats near and far, half noise: all kinds of blocks, and matches beyond several blocks. */
  const lines = Buffer.from(
    Array.from({ length: 24_000 }, (_, i) => `${i % 977} alloc ${i * 512} at 0x7f${i}\n`).join(''),
  );
  const content = Buffer.concat([lines, noise(700_000), lines, Buffer.alloc(400_000), lines.subarray(0, 100_001)]);

  const levels = [
    '-1',
    '-3',
    '-9 --no-check',
    '--ultra -22',
    '--fast=5',
    '--long=27',
    '-T2 -B100KiB',
    '--rsyncable -T1',
  ];
  it.each(levels)('%s', async (level) => {
    const args = level.split(' ');
    const got = await read(zstd(args, content));
    expect(got.error).toBeUndefined();
    expect(got.bytes.equals(content)).toBe(true);
    expect(got.notes).toHaveLength(args.includes('--no-check') ? 1 : 0);
  });

  it('is never taken for something else when bits turn over, and never keeps us waiting', async () => {
    const original = zstd(['-3'], content.subarray(0, 900_000));
    const random = seeded(11);
    for (let round = 0; round < 12; round++) {
      const bytes = Buffer.from(original);
      const at = 6 + Math.floor(random() * (bytes.length - 6));
      bytes[at]! ^= 1 << Math.floor(random() * 8);
      const { bytes: got, error } = await read(bytes);
      if (error === undefined) expect(got.equals(content.subarray(0, 900_000))).toBe(true);
      else expect(error).toMatchObject({ code: 'MBF2006' });
    }
  });
});

/** Last, for it uses the decoder up. */
it('after very many damaged files the next one is refused, and other files are still read', async () => {
  const broken = Buffer.concat([MAGIC, Buffer.from('0088', 'hex'), Buffer.from('250000ffffffff', 'hex')]);
  for (let i = 0; i < 3; i++) await read(broken);
  const { error } = await read(SIZED);
  expect(error).toMatchObject({ code: 'MBF2005' });
  expect((await read(TEXT)).bytes.equals(TEXT)).toBe(true);
});

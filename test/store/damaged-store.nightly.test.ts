/** Stores that are cut, or of which bytes were changed: what opens is what was committed, or it is called damaged. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { MbfError } from '../../src/model/errors.js';
import { openStore } from '../../src/store/open-store.js';
import { newStore } from '../support/new-store.js';
import { refusal } from './duckdb.js';
import { scratchDirectory } from './scratch.js';

/** `fine` if the store opens and holds the rows it had; else the code of the error. A wrong answer fails. */
async function outcome(file: string, rows: number): Promise<string> {
  try {
    const store = await openStore(file, { mode: 'read' });
    try {
      const [row] = await store.select('SELECT count(*) AS n, sum(length(text)) AS length FROM text_value');
      expect(row).toEqual({ n: rows, length: rows * 32 });
      return 'fine';
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof MbfError) return error.code;
    throw error;
  }
}

const filling = (rows: string): string =>
  `INSERT INTO text_value SELECT i::INTEGER, md5(i::VARCHAR) FROM range(${rows}) AS rows(i)`;

async function filled(file: string, rows: number): Promise<Buffer> {
  const store = await newStore(file);
  await store.run(filling(String(rows)));
  await store.close();
  return readFileSync(file);
}

/** Each case tries one share of the places. */
const shares = (parts: number): number[] => Array.from({ length: parts }, (_, i) => i);

describe('a truncated store', () => {
  it.each([12, 100, 4096, 8191, 8192, 12_287, 12_288, 12_300, 100_000, 274_432])(
    'is damaged: %d bytes',
    async (cut) => {
      const file = join(scratchDirectory(), 'a.duckdb');
      writeFileSync(file, (await filled(file, 20_000)).subarray(0, cut));
      expect(await outcome(file, 20_000)).toBe('MBF3002');
      expect((await refusal(openStore(file, { mode: 'write' }))).code).toBe('MBF3002');
    },
  );

  it.each(shares(4))('is damaged when it opens, or when the missing rows are read: share %d', async (share) => {
    const file = join(scratchDirectory(), 'a.duckdb');
    const bytes = await filled(file, 20_000);
    for (let cut = 300_000 + share * 50_001; cut < bytes.length; cut += 4 * 50_001) {
      writeFileSync(file, bytes.subarray(0, cut));
      expect(['MBF3002', 'fine'], `cut at ${cut}`).toContain(await outcome(file, 20_000));
    }
  });
});

describe('flipped bytes', () => {
  it.each(shares(6))('never give a wrong answer or a crash: share %d', async (share) => {
    const file = join(scratchDirectory(), 'a.duckdb');
    const bytes = await filled(file, 50_000);
    const step = Math.ceil(bytes.length / 60);
    const seen = new Set<string>();
    for (let at = 20 + share * step; at < bytes.length; at += 6 * step) {
      writeFileSync(file, Buffer.from(bytes).fill(0xa5, at, at + 64));
      seen.add(await outcome(file, 50_000));
    }
    expect([...seen].sort()).toEqual(['MBF3002', 'fine']);
  });
});

describe('a garbled or cut log', () => {
  it.each(shares(5))('gives what was committed, or a damaged store: share %d', async (share) => {
    const file = join(scratchDirectory(), 'a.duckdb');
    await filled(file, 10);
    const instance = await DuckDBInstance.create(file);
    const connection = await instance.connect();
    await connection.run(filling('500'));
    const [bytes, log] = [readFileSync(file), readFileSync(`${file}.wal`)];
    connection.closeSync();
    instance.closeSync();
    const outcomes = async (damaged: Buffer) => {
      writeFileSync(file, bytes);
      writeFileSync(`${file}.wal`, damaged);
      const before = await outcome(file, 10).catch(() => 'other rows');
      return before === 'fine' || before === 'MBF3002' ? before : outcome(file, 510);
    };
    expect(await outcomes(log)).toBe('fine');
    const step = Math.ceil(log.length / 25);
    for (let at = share * step; at < log.length; at += 5 * step) {
      expect(['fine', 'MBF3002'], `cut at ${at}`).toContain(await outcomes(log.subarray(0, at)));
      const flipped = Buffer.from(log).fill(0xa5, at, at + 8);
      expect(['fine', 'MBF3002'], `flipped at ${at}`).toContain(await outcomes(flipped));
    }
  });
});

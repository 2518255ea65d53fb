/**
 * Row by row against CPython's unpickler: every value of every column, however the pickle was written and however its
 * bytes arrive.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { openByteSource } from '../../src/ingest/read/byte-source.js';
import { hasPython, SNAPSHOTS, skipLoudly, snapshotPickles, truthOf } from '../support/corpus.js';
import { bytesSource, type Decoded, decode } from '../support/decode.js';
import { generatePickles } from '../support/generate-pickles.js';
import { type PythonTruth, pythonTruth } from '../support/python-truth.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const TABLES = ['segments', 'blocks', 'events', 'annotations', 'ooms', 'extras', 'stacks'] as const;

/** Equal in everything. A failure shows the first row that differs, because a diff of 100,000 lines is unreadable. */
function expectSame(ours: Decoded, truth: PythonTruth, what: string): void {
  for (const table of TABLES) {
    const [got, wanted] = [sorted(table, ours[table]), sorted(table, truth[table])];
    const at = got.findIndex((line, i) => line !== wanted[i]);
    if (at >= 0) expect(`${what} ${table} ${at}: ${got[at]}`).toBe(`${what} ${table} ${at}: ${wanted[at]}`);
    expect(got.length, `${what}: rows of ${table}`).toBe(wanted.length);
  }
  const { summary } = ours;
  expect({
    protocol: summary.protocol,
    form: summary.form,
    settings: Object.fromEntries(summary.settings),
    traceLengths: summary.traceLengths,
  }).toEqual({
    protocol: truth.protocol,
    form: truth.form,
    settings: truth.settings,
    traceLengths: truth.traceLengths,
  });
}

/** Extras of one entry come in no promised order. */
function sorted(table: string, lines: readonly string[]): readonly string[] {
  return table === 'extras' ? [...lines].sort() : lines;
}

if (!hasPython) {
  skipLoudly('decoder truth', 'python3');
} else {
  describe('pickles of CPython', () => {
    const directory = temporaryDirectory();
    let names: string[] = [];
    let truths = new Map<string, PythonTruth>();
    const bytesOf = (name: string): Buffer => readFileSync(join(directory, `${name}.pickle`));

    beforeAll(() => {
      names = generatePickles(directory, 20_260_801);
      const truth = pythonTruth(names.map((name) => join(directory, `${name}.pickle`)));
      truths = new Map(names.map((name, i) => [name, truth[i]!]));
    });

    it('decode to the same rows, whatever wrote them', async () => {
      expect(names.length).toBeGreaterThan(70);
      for (const name of names) expectSame(await decode(bytesSource(bytesOf(name))), truths.get(name)!, name);
    });

    it('take the fast path where torch writes, and only there', async () => {
      const fast = async (name: string): Promise<number> =>
        (await decode(bytesSource(bytesOf(name)))).summary.statistics['fastEntries'] ?? 0;
      for (const name of ['c-4', 'c-5', 'pure-4', 'metadata-pools-4', 'frames-one', 'streams-4']) {
        expect(await fast(name), name).toBeGreaterThan(0);
      }
      for (const name of ['c-2', 'c-3', 'unshared-4', 'one-entry', 'bare-list']) expect(await fast(name), name).toBe(0);
    });

    it('decode to the same rows however the bytes arrive', async () => {
      for (const name of names) {
        const bytes = bytesOf(name);
        const chunks = bytes.length > 100_000 ? [4093] : [1, 7, 4093];
        for (const chunk of chunks) {
          const decoded = await decode(bytesSource(bytes, chunk, chunk !== 7));
          expectSame(decoded, truths.get(name)!, `${name} in chunks of ${chunk}`);
        }
      }
    });

    it('decode to the same rows from a file, plain and gzip', async () => {
      for (const name of ['c-4', 'pure-2', 'big']) {
        const plain = join(directory, `${name}.pickle`);
        const packed = join(directory, `${name}.pickle.gz`);
        writeFileSync(packed, gzipSync(bytesOf(name), { level: 1 }));
        for (const path of [plain, packed]) {
          const opened = await openByteSource(path);
          try {
            await opened.head();
            expectSame(await decode(opened.source), truths.get(name)!, path);
            await opened.finish();
          } finally {
            await opened.close();
          }
        }
      }
    });

    it('reach beyond one window of the reader', () => {
      expect(statSync(join(directory, 'big.pickle')).size).toBeGreaterThan(9 * 1024 * 1024);
    });
  });

  describe('pickles of the corpus', () => {
    const files = snapshotPickles().filter((name) => truthOf(name).valid !== false);
    if (files.length === 0) skipLoudly('decoder truth', 'the corpus (set MBF_CORPUS)');
    it.skipIf(files.length === 0)('decode to the rows CPython finds, every value of them', async () => {
      let events = 0;
      for (const file of files) {
        const path = join(SNAPSHOTS, file);
        const [truth] = pythonTruth([path]);
        const decoded = await decode(bytesSource(readFileSync(path)));
        expectSame(decoded, truth!, file);
        events += decoded.events.length;
      }
      expect(events).toBeGreaterThan(0);
    });
  });
}

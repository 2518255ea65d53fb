/** Small files share transactions; what is stored is what each by itself would leave. */
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import { DecodeThreads } from '../../src/ingest/read/decode-in-thread.js';
import { MbfError } from '../../src/model/errors.js';
import type { ParserSpec } from '../../src/model/parser.js';
import type { IngestResult } from '../../src/model/results/common.js';
import { MIB } from '../../src/model/units.js';
import type { Store } from '../../src/store/store.js';
import { repoRoot, scratchDirectory } from '../store/scratch.js';
import { withLibrary } from '../support/library-sql.js';
import { newStore } from '../support/new-store.js';
import { BASE, smallSnapshot } from '../support/small-snapshot.js';
import { storedRows } from './stored-rows.js';

let root = '';
const opened: Store[] = [];
beforeEach(() => {
  root = realpathSync(scratchDirectory());
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

async function storeNamed(name: string): Promise<Store> {
  const store = await newStore(join(root, name));
  opened.push(store);
  return store;
}

function put(path: string, bytes: string | Uint8Array): string {
  const full = join(root, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, bytes);
  return path;
}

const read = (
  store: Store,
  paths: readonly string[],
  parsers: readonly ParserSpec[] = PARSERS,
): Promise<IngestResult> =>
  ingest({ rowsOnly: true, store, parsers, run: 'x', paths: paths.map((path) => join(root, path)), now: new Date(0) });

/** A snapshot with stacks and texts that others share, and some of its own. */
function snapshotOf(rank: number): Buffer {
  const entries = Array.from({ length: 40 }, (_, n) => ({
    action: n % 4 === 3 ? 'free_completed' : 'alloc',
    addr: BASE + (n - (n % 4 === 3 ? 1 : 0)) * 512,
    size: 512,
    stack: [`layer${n % 5}.py:${n}`, rank % 2 === 0 ? 'train.py:1' : `rank${rank}.py:2`],
    extra: { compile_context: `context ${n % 3}`, color: rank },
  }));
  return smallSnapshot({ segments: [[{ size: 2 ** 20 }, { size: 2 ** 20, state: 'inactive' }]], entries });
}

const LOG = `[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.00 GiB is free.\n`;

/** Nine files in the order in which they are read, one of which is cut, one empty, one other text, and one a log. */
function mixedRun(): string[] {
  const good = Array.from({ length: 5 }, (_, rank) => put(`run/snapshot_${rank}.pickle`, snapshotOf(rank)));
  const bytes = snapshotOf(7);
  const snapshots = [
    ...good,
    put('run/snapshot_2b.pickle', bytes.subarray(0, bytes.length - 60)),
    put('run/snapshot_3b.pickle', ''),
  ];
  return [
    put('run/OTHER', readFileSync(join(repoRoot, 'LICENSE'))),
    put('run/train.log', LOG.repeat(3)),
    ...snapshots.sort(),
  ];
}

const outcomes = ({ sources }: IngestResult) => inOrder(sources.map(({ run: _, ...source }) => source));

/** Results are in order of paths, not of reading. */
function inOrder<T extends { readonly path: string }>(sources: readonly T[]): T[] {
  return sources.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

async function entriesOf(store: Store): Promise<number> {
  const [row] = await store.select(withLibrary('SELECT count(*) AS n FROM event'));
  return Number(row!['n']);
}

describe('a group of small files', () => {
  it('leaves what each of them by itself would leave, and a bad one is one error', async () => {
    const paths = mixedRun();
    const [grouped, single] = [await storeNamed('a.duckdb'), await storeNamed('b.duckdb')];
    const together = await read(grouped, ['run']);
    const failed = together.sources.filter(({ status }) => status === 'failed');
    expect(failed.map(({ path, error }) => [path, error!.code])).toEqual([
      ['snapshot_2b.pickle', 'MBF2101'],
      ['snapshot_3b.pickle', 'MBF2004'],
    ]);
    // One that is named itself has failed where one that was met is skipped.
    const named = paths.filter((path) => !path.endsWith('OTHER'));
    const singly: ReturnType<typeof outcomes> = [];
    for (const path of named) singly.push(...outcomes(await read(single, [path])));
    expect(together.sources[0]).toMatchObject({ path: 'OTHER', status: 'skipped', error: { code: 'MBF2008' } });
    expect(outcomes(together).filter(({ status }) => status !== 'skipped')).toEqual(inOrder(singly));
    expect(await storedRows(grouped)).toEqual(await storedRows(single));
    expect(await entriesOf(grouped)).toBe(200);
  });

  it('is repeated file by file if its transaction fails, with the same rows', async () => {
    mixedRun();
    const [failing, sound] = [await storeNamed('a.duckdb'), await storeNamed('b.duckdb')];
    const transaction = failing.transaction.bind(failing);
    let failures = 0;
    failing.transaction = (work) =>
      transaction(async () => {
        const result = await work();
        const [row] = await failing.select('SELECT count(*) AS n FROM source');
        if (failures === 0 && Number(row!['n']) > 3) {
          failures += 1;
          throw new MbfError('MBF3005', 'no space is left');
        }
        return result;
      });
    const reported: string[] = [];
    const progress = {
      ...{ files: () => undefined, read: () => undefined, derive: () => undefined },
      done: (file: string) => void reported.push(file),
    };
    const paths = [join(root, 'run')];
    const how = { rowsOnly: true, parsers: PARSERS, run: 'x', paths, now: new Date(0), progress };
    const repeated = await ingest({ ...how, store: failing });
    expect(failures).toBe(1);
    expect(reported.toSorted()).toEqual(repeated.sources.map(({ path }) => path));
    expect(outcomes(repeated)).toEqual(outcomes(await read(sound, ['run'])));
    expect(await storedRows(failing)).toEqual(await storedRows(sound));
  });

  it('keeps the files before one that a bug of ours meets', async () => {
    mixedRun();
    const store = await storeNamed('a.duckdb');
    const [torch, ...others] = PARSERS;
    let parsed = 0;
    const broken: ParserSpec = {
      ...torch!,
      parse(...args) {
        parsed += 1;
        // The third one of the group, and again when it is repeated.
        if (parsed === 3 || parsed === 6) throw new TypeError('a bug');
        return torch!.parse(...args);
      },
    };
    await expect(read(store, ['run'], [broken, ...others])).rejects.toThrow('a bug');
    const stored = await store.select('SELECT display_path FROM source ORDER BY source_id');
    expect(stored.map((row) => row['display_path'])).toEqual(['train.log', 'snapshot_0.pickle', 'snapshot_1.pickle']);
    expect((await read(store, ['run'])).sources.filter(({ status }) => status === 'unchanged')).toHaveLength(3);
  });

  it('is without a file that inflates to a large one: that is written while it is decoded', async () => {
    const extra = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`key${n}`, n]));
    const entries = Array.from({ length: 5_100 }, () => ({ action: 'alloc', addr: BASE, size: 512, extra }));
    put('run/snapshot_0.pickle', snapshotOf(0));
    put('run/snapshot_1.pickle.gz', gzipSync(smallSnapshot({ entries })));
    put('run/snapshot_2.pickle', snapshotOf(2));
    const store = await storeNamed('a.duckdb');
    const { sources } = await read(store, ['run']);
    expect(sources.map(({ status }) => status)).toEqual(['ingested', 'ingested', 'ingested']);
    const snapshots = await store.select(
      `SELECT source_id, handle, count(event.snapshot_id) AS events, (SELECT count(*) FROM event_extra AS extra
         WHERE extra.snapshot_id = snapshot.snapshot_id) AS extras
       FROM snapshot JOIN event USING (snapshot_id) GROUP BY ALL ORDER BY source_id`,
    );
    expect(snapshots).toEqual(
      [40, 5_100, 40].map((events, rank) => ({
        ...{ source_id: rank + 1, handle: `x/${rank}/snapshot#1`, events },
        // Of one file no more are kept.
        extras: rank === 1 ? 100_000 : events,
      })),
    );
  });
});

describe('a second ingest', () => {
  it('replaces files one by one, and gives free numbers and handles out again', async () => {
    mixedRun();
    const [twice, single] = [await storeNamed('a.duckdb'), await storeNamed('b.duckdb')];
    await read(twice, ['run']);
    await read(single, ['run']);
    const changed = ['run/snapshot_4.pickle', 'run/snapshot_1.pickle'].map((path) => put(path, snapshotOf(9)));
    const { sources } = await read(twice, ['run']);
    expect(sources.filter(({ status }) => status === 'ingested').map(({ path }) => `run/${path}`)).toEqual(
      [...changed].sort(),
    );
    for (const path of [...changed].sort()) await read(single, [path]);
    // Those that failed were tried again, in one of the stores only.
    const withoutIds = (store: Store) =>
      store.select(
        withLibrary(
          'SELECT handle, rank, count(*) AS events FROM snapshot JOIN event USING (snapshot_id) GROUP BY ALL ORDER BY ALL',
        ),
      );
    expect(await withoutIds(twice)).toEqual(await withoutIds(single));
    expect((await storedRows(twice)).get('snapshot')!.length).toBe(5);
    expect(await entriesOf(twice)).toBe(200);
  });

  it('of a path that is named twice finds it unchanged', async () => {
    const path = put('run/snapshot_0.pickle', snapshotOf(0));
    const store = await storeNamed('a.duckdb');
    const { sources } = await read(store, ['run', path]);
    expect(sources.map(({ status }) => status)).toEqual(['ingested', 'unchanged']);
    expect(sources[1]!.notes).toEqual(sources[0]!.notes);
  });
});

describe('files that are decoded ahead', () => {
  const files = (count: number, sizeBytes: number, path = 'snapshot.pickle') => Array(count).fill({ path, sizeBytes });

  it('are one for each thread and one that is written, and fewer where memory is short', () => {
    const many = new DecodeThreads({ bulk: 4, memoryBytes: 2 ** 40 });
    expect([many.mayHold(files(5, MIB)), many.mayHold(files(6, MIB))]).toEqual([true, false]);
    const little = new DecodeThreads({ bulk: 4, memoryBytes: 300 * MIB });
    expect(little.mayHold(files(4, 6 * MIB))).toBe(true);
    expect(little.mayHold(files(5, 6 * MIB))).toBe(false);
    expect(little.mayHold(files(2, 80 * MIB))).toBe(true);
    expect(little.mayHold(files(2, 90 * MIB))).toBe(false);
    expect(little.mayHold(files(2, 10 * MIB, 'x.pickle.gz'))).toBe(true);
    expect(little.mayHold(files(2, 12 * MIB, 'x.pickle.gz'))).toBe(false);
    // One file is read however large it is.
    expect(little.mayHold(files(1, 2 ** 40))).toBe(true);
  });
});

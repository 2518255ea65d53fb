/**
 * Ingests that are killed, that meet a full disk, or whose files change: what `npm run fuzz` checks of each, and after
 * a kill that the store holds exactly the sources that were finished.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { type PyValue, pickled } from '../../samples/generate/write/pickle-writer.js';
import { openStore } from '../../src/store/open-store.js';
import { runDiskFull, runKills, runRaces } from '../fuzz/interruptions.js';
import { buildCli } from '../support/cli.js';
import { entry, frame, segment, snapshot } from '../support/small-snapshot.js';
import { cliBelow, dataCounts, expectSound, temporaryDirectory } from './harness.js';

const directory = temporaryDirectory();
const ask = cliBelow(directory);
const FILES = 12;
const folder = join(directory, 'ranks');
/** Events by source. */
const truth = new Map<string, number>();

/** Half a MB with stacks and texts of its own and shared ones; every third file has new texts that only it has. */
function bigPickle(rank: number, entries: number): Buffer {
  const frames = Array.from({ length: 400 }, (_, i) => frame(`f${i}`, `file${i % 20}.py`, i));
  const stacks = Array.from({ length: 3000 }, (_, i): PyValue[] =>
    [i, i * 7 + rank, i * 31, i * 57].map((n) => frames[n % 400]!),
  );
  const actions = ['alloc', 'free_requested', 'free_completed'] as const;
  const trace = Array.from({ length: entries }, (_, i) => {
    const user_metadata = rank % 3 === 0 ? `rank ${rank} step ${i % 500}` : 'shared';
    const n = Math.floor(i / 3);
    return entry(actions[i % 3]!, n % 5000, { frames: stacks[n % 3000]!, user_metadata });
  });
  const annotations = Array.from({ length: 100 }, (_, i) => ({
    ...{ stage: i % 2 === 0 ? 'START' : 'END', name: `scope ${rank} ${i}`, device: 0, time_us: i },
  }));
  const segments = Array.from({ length: 50 }, (_, i) => segment({ address: 0x7f00_0000_0000 + i * 2 ** 22 }));
  return pickled(snapshot({ segments, device_traces: [trace], external_annotations: annotations }));
}

const LOG = `[rank3]: Traceback (most recent call last):
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 77.89 GiB memory in use. Of the allocated memory 70.12 GiB is allocated by PyTorch, and 5.61 GiB is reserved by PyTorch but unallocated.
`;

beforeAll(() => {
  mkdirSync(folder);
  for (let rank = 0; rank < FILES; rank++) {
    const name = `snapshot_${String(rank).padStart(2, '0')}.pickle`;
    truth.set(name, 4_500 + rank * 377);
    writeFileSync(join(folder, name), bigPickle(rank, truth.get(name)!));
  }
  // In the walking order it is between the snapshots.
  writeFileSync(join(folder, 'snapshot_05_train.log'), LOG);
  truth.set('snapshot_05_train.log', 0);
});

interface SourceLine {
  readonly path: string;
  readonly status: string;
}

/** Sources that a store held after the last kill: later ones take none away. */
const finished = new Map<string, number>();

/** In the order of reading and without a gap, those that were finished; each is complete. */
async function expectWholeSourcesOnly(db: string, run: string, isLast: boolean): Promise<void> {
  if (run !== folder) return;
  const listed = ask(directory, 'runs', 'sources', '--json=full', '--db', db);
  if (listed.status === 2) {
    // Killed before the store existed: then the file does not exist either.
    expect(listed.stderr).toContain('MBF1004');
    expect(existsSync(db)).toBe(false);
    return;
  }
  expect(listed.status, listed.stderr).toBe(0);
  const { sources } = listed.json<{ sources: SourceLine[] }>();
  expect(sources.every(({ status }) => status === 'ingested')).toBe(true);
  const done = sources.map(({ path }) => path);
  // Logs are read before snapshots, whose labels depend on them.
  const isSnapshot = (path: string): boolean => path.endsWith('.pickle');
  const names = [...truth.keys()].sort();
  const inOrder = [...names.filter((path) => !isSnapshot(path)), ...names.filter(isSnapshot)];
  expect(done.toSorted()).toEqual(inOrder.slice(0, done.length).sort());
  const store = await openStore(db, { mode: 'read' });
  try {
    await expectSound(store);
    const rows = await store.select(
      `SELECT display_path AS path, count(event.snapshot_id) AS n FROM source LEFT JOIN snapshot USING (source_id)
       LEFT JOIN event USING (snapshot_id) GROUP BY ALL ORDER BY 1`,
    );
    expect(rows).toEqual(done.map((path) => ({ path, n: truth.get(path) })));
    const snapshots = done.filter(isSnapshot).length;
    expect(await dataCounts(store)).toMatchObject({
      ...{ snapshot: snapshots, segment: snapshots * 50, block: snapshots * 100, annotation: snapshots * 100 },
      incident: done.length - snapshots,
    });
  } finally {
    await store.close();
  }
  expect(done.length).toBeGreaterThanOrEqual(finished.get(db) ?? 0);
  finished.set(db, done.length);
  if (!isLast) return;
  // The next ingest does what is left, and no more.
  const second = ask(directory, 'ingest', run, '--json=full', '--db', db);
  expect(second.status, second.stderr).toBe(0);
  expect(second.json<{ sources: SourceLine[] }>().sources.map(({ path, status }) => [path, status])).toEqual(
    names.map((path) => [path, done.includes(path) ? 'unchanged' : 'ingested']),
  );
}

const options = (seed: number) => ({ ...{ count: 1, first: seed, directory, seed }, main: buildCli().script });
const moments = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

it.each(moments(20))('killed at moment %i of an ingest', async (seed) => {
  const killed = await runKills({ ...options(seed), folders: [folder, folder], inspect: expectWholeSourcesOnly });
  expect(killed.faults).toEqual([]);
});

it('an ingest that is killed again and again gets there, and some kills meet it in the middle', async () => {
  const kills = { folders: [folder, folder], kills: 4, inspect: expectWholeSourcesOnly };
  const { faults, ends } = await runKills({ ...options(102), ...kills });
  expect(faults).toEqual([]);
  expect(ends['store was there']).toBeGreaterThan(0);
});

it.for(moments(12))('needs root: a disk that is full at moment %i', async (seed, { skip }) => {
  const result = await runDiskFull(options(seed));
  if (typeof result === 'string') return skip(result);
  expect(result.faults).toEqual([]);
});

it.each(moments(8))('a file that changes at moment %i', async (seed) => {
  expect((await runRaces(options(seed))).faults).toEqual([]);
});

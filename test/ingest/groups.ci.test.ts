/** Many small files in other processes: decoded by several threads, and killed among them. */
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import { THREAD_FROM_BYTES } from '../../src/ingest/read/decode-in-thread.js';
import { MIB } from '../../src/model/units.js';
import { openStore } from '../../src/store/open-store.js';
import { scratchDirectory, sharedBuild, startChild } from '../store/scratch.js';
import { BASE, smallSnapshot } from '../support/small-snapshot.js';

/** Two thirds of them have so many entries, the others ten, and every 13th is cut. */
function manyFiles(directory: string, count: number, most: number): string {
  const run = join(directory, 'run');
  mkdirSync(run);
  for (let rank = 0; rank < count; rank++) {
    const bytes = snapshotOf(rank, entriesOf(rank, most));
    const name = `snapshot_${String(rank).padStart(3, '0')}.pickle`;
    writeFileSync(join(run, name), rank % 13 === 5 ? bytes.subarray(0, bytes.length - 50) : bytes);
  }
  return run;
}

function snapshotOf(rank: number, count: number): Buffer {
  const entries = Array.from({ length: count }, (_, n) => ({
    ...{ action: 'alloc', addr: BASE + n * 512, size: 512, stack: [`layer${(n + rank) % 50}.py:${rank % 7}`] },
  }));
  return smallSnapshot({ segments: [[{ size: 2 ** 20 }]], entries });
}

const entriesOf = (rank: number, most: number): number => (rank % 3 === 0 ? 10 : most);

const start = (db: string, run: string, decoders: number, rows: 'rowsOnly' | 'derived' = 'rowsOnly') =>
  startChild(new URL('groups-child.mjs', import.meta.url).href, [sharedBuild(), db, run, String(decoders), rows]);

/** The number of rows of each table, derived ones too, and all of them in one hash, in the order of writing. */
async function rowsOf(db: string): Promise<Map<string, unknown>> {
  const store = await openStore(db, { mode: 'read' });
  try {
    const rows = new Map<string, unknown>();
    const tables = await store.select(
      'SELECT table_name AS name FROM duckdb_tables() WHERE NOT internal ORDER BY name',
    );
    for (const name of tables.map((table) => String(table['name']))) {
      const sql = `SELECT count(*) AS count, md5(string_agg(stored::VARCHAR, '\n' ORDER BY rowid)) AS hash FROM ${name} AS stored`;
      rows.set(name, (await store.select(sql))[0]);
    }
    return rows;
  } finally {
    await store.close();
  }
}

const isSnapshot = (name: string): boolean => /\.pickle(?:\.gz)?$/.test(name);
/** The order in which files are read. */
const snapshotsLast = (a: string, b: string): number =>
  Number(isSnapshot(a)) - Number(isSnapshot(b)) || (a < b ? -1 : 1);

it('stores the same with one, two and four decoding threads', async () => {
  const directory = realpathSync(scratchDirectory());
  const run = manyFiles(directory, 40, 1_200);
  // Large enough for transactions of their own: with bytes behind the pickle. One is cut.
  const good = snapshotOf(9, 1_200);
  const behind = Buffer.alloc(8 * MIB);
  writeFileSync(join(run, 'snapshot_900.pickle'), Buffer.concat([good, behind]));
  writeFileSync(join(run, 'snapshot_901.pickle'), Buffer.concat([good.subarray(0, good.length - 50), behind]));
  writeFileSync(join(run, 'snapshot_902.pickle.gz'), gzipSync(good));
  // Large files of any kind let threads decode the small ones.
  writeFileSync(join(run, 'table.dat'), Buffer.alloc(4 * THREAD_FROM_BYTES));
  const stored = [];
  for (const decoders of [1, 2, 4]) {
    const db = join(directory, `${decoders}.duckdb`);
    const child = start(db, run, decoders, 'derived');
    const reported: string[] = [];
    for (let line = await child.nextLine(); line !== 'done'; line = await child.nextLine()) reported.push(line);
    expect(await child.ended, child.stderr()).toBe(0);
    expect(reported).toEqual(readdirSync(run).sort(snapshotsLast));
    stored.push(await rowsOf(db));
  }
  expect(stored[0]!.get('block_life')).toMatchObject({ count: expect.any(Number), hash: expect.any(String) });
  expect(stored[1]).toEqual(stored[0]);
  expect(stored[2]).toEqual(stored[0]);
});

it.each([20, 90])('keeps its promise when it is killed after %i files, inside a group', async (files) => {
  const directory = realpathSync(scratchDirectory());
  const run = manyFiles(directory, 140, 300);
  const names = readdirSync(run).sort();
  const db = join(directory, 'killed.duckdb');
  const child = start(db, run, 2);
  for (let i = 0; i < files; i++) await child.nextLine();
  child.kill();
  await child.ended;
  const store = await openStore(db, { mode: 'write' });
  try {
    const before = await store.select('SELECT display_path AS path, status FROM source ORDER BY source_id');
    // Whole groups, in order: all that was committed before, and nothing of the one that was under way.
    expect(before.map(({ path }) => path)).toEqual(names.slice(0, before.length));
    expect(before.length).toBeGreaterThanOrEqual(files >= 64 ? 64 : 0);
    expect(before.length).toBeLessThan(names.length);
    const how = { rowsOnly: true, parsers: PARSERS, run: 'x', paths: [run], now: new Date(0) };
    const { sources } = await ingest({ ...how, store });
    const wasStored = new Set(before.filter(({ status }) => status === 'ingested').map(({ path }) => path));
    expect(sources.filter(({ status }) => status === 'unchanged').map(({ path }) => path)).toEqual([...wasStored]);
    const [row] = await store.select(
      `SELECT count(*) AS sources, count(*) FILTER (status = 'failed') AS failed, (SELECT count(*) FROM snapshot) AS snapshots,
         (SELECT count(DISTINCT handle) FROM snapshot) AS handles, (SELECT count(*) FROM event) AS events FROM source`,
    );
    const bad = names.filter((_, rank) => rank % 13 === 5).length;
    const entries = names.reduce((sum, _, rank) => sum + (rank % 13 === 5 ? 0 : entriesOf(rank, 300)), 0);
    const good = names.length - bad;
    expect(row).toEqual({ sources: names.length, failed: bad, snapshots: good, handles: good, events: entries });
  } finally {
    await store.close();
  }
});

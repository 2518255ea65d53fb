/** Many small files in other processes: decoded by several threads, and killed among them. */
import { mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import { THREAD_FROM_BYTES } from '../../src/ingest/read/decode-in-thread.js';
import { schemaTables } from '../../src/store/load-queries.js';
import { openStore } from '../../src/store/open-store.js';
import { scratchDirectory, sharedBuild, startChild } from '../store/scratch.js';
import { BASE, smallSnapshot } from '../support/small-snapshot.js';

/** Two thirds of them have so many entries, the others ten, and every 13th is cut. */
function manyFiles(directory: string, count: number, most: number): string {
  const run = join(directory, 'run');
  mkdirSync(run);
  for (let rank = 0; rank < count; rank++) {
    const entries = Array.from({ length: entriesOf(rank, most) }, (_, n) => ({
      ...{ action: 'alloc', addr: BASE + n * 512, size: 512, stack: [`layer${(n + rank) % 50}.py:${rank % 7}`] },
    }));
    const bytes = smallSnapshot({ segments: [[{ size: 2 ** 20 }]], entries });
    const name = `snapshot_${String(rank).padStart(3, '0')}.pickle`;
    writeFileSync(join(run, name), rank % 13 === 5 ? bytes.subarray(0, bytes.length - 50) : bytes);
  }
  return run;
}

const entriesOf = (rank: number, most: number): number => (rank % 3 === 0 ? 10 : most);

const start = (db: string, run: string, decoders: number) =>
  startChild(new URL('groups-child.mjs', import.meta.url).href, [sharedBuild(), db, run, String(decoders)]);

/** The number of rows of each table, and all of them in one hash, in the order in which they were written. */
async function rowsOf(db: string): Promise<Map<string, unknown>> {
  const store = await openStore(db, { mode: 'read' });
  try {
    const rows = new Map<string, unknown>();
    for (const { name } of schemaTables()) {
      const sql = `SELECT count(*) AS count, md5(string_agg(stored::VARCHAR, '\n' ORDER BY rowid)) AS hash FROM ${name} AS stored`;
      rows.set(name, (await store.select(sql))[0]);
    }
    return rows;
  } finally {
    await store.close();
  }
}

const isSnapshot = (name: string): boolean => name.endsWith('.pickle');
/** The order in which files are read. */
const snapshotsLast = (a: string, b: string): number =>
  Number(isSnapshot(a)) - Number(isSnapshot(b)) || (a < b ? -1 : 1);

it('stores the same with one, two and four decoding threads', async () => {
  const directory = realpathSync(scratchDirectory());
  const run = manyFiles(directory, 40, 1_200);
  // Large files of any kind let threads decode the small ones.
  writeFileSync(join(run, 'table.dat'), Buffer.alloc(THREAD_FROM_BYTES));
  const stored = [];
  for (const decoders of [1, 2, 4]) {
    const db = join(directory, `${decoders}.duckdb`);
    const child = start(db, run, decoders);
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

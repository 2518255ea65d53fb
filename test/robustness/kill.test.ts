/**
 * SIGKILL, SIGINT, SIGTERM and SIGHUP at moments spread over an ingest:
 * the store opens, holds exactly the sources it had finished, and a second
 * ingest completes it.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { type PyValue, pickled } from '../../samples/generate/write/pickle-writer.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { sharedBuild } from '../store/scratch.js';
import { type Answer, type Cli, warmCliOf } from '../support/cli.js';
import { runs } from '../support/level.js';
import { entry, frame, segment, snapshot } from '../support/small-snapshot.js';
import { type Counts, dataCounts, expectSound, runCli, seeded, temporaryDirectory } from './harness.js';

const FILES = 12;
const KILLS = Number(process.env['MBF_KILLS'] ?? runs(3, 14));
/** One after the other: the first cannot be caught, the others are. */
const SIGNALS = ['SIGKILL', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const root = temporaryDirectory();
let build = '';
/** For what is asked after a kill. What is killed is a process of its own. */
let cli: Cli;
const temporary = join(root, 'temporary');
mkdirSync(temporary);
const env = { XDG_CACHE_HOME: join(root, 'cache'), HOME: root, TMPDIR: temporary };
const ask = (...args: string[]): Answer => cli.run(args, { cwd: root, env });
/** Wall time of a whole ingest, process start included. */
let fullMs = 0;
let wholeCounts: Counts = {};
let wholeContents: unknown;
/** Events per source. */
const truth = new Map<string, number>();

interface SourceLine {
  readonly path: string;
  readonly status: string;
}

/**
 * Half a MB of entries with stacks of their own and shared ones, metadata, annotations, blocks; every third file has
 * new texts only it has.
 */
function bigPickle(rank: number, entries: number): Buffer {
  const frames = Array.from({ length: 400 }, (_, i) => frame(`f${i}`, `file${i % 20}.py`, i));
  const stacks = Array.from({ length: 3000 }, (_, i): PyValue[] => [
    frames[i % 400]!,
    frames[(i * 7 + rank) % 400]!,
    frames[(i * 31) % 400]!,
    frames[(i * 57) % 400]!,
  ]);
  const actions = ['alloc', 'free_requested', 'free_completed'] as const;
  const trace = Array.from({ length: entries }, (_, i) =>
    entry(actions[i % 3]!, Math.floor(i / 3) % 5000, {
      frames: stacks[Math.floor(i / 3) % 3000]!,
      user_metadata: rank % 3 === 0 ? `rank ${rank} step ${i % 500}` : 'shared',
    }),
  );
  const annotations = Array.from({ length: 100 }, (_, i) => ({
    stage: i % 2 === 0 ? 'START' : 'END',
    name: `scope ${rank} ${i}`,
    device: 0,
    time_us: i,
  }));
  return pickled(
    snapshot({
      segments: Array.from({ length: 50 }, (_, i) => segment({ address: 0x7f00_0000_0000 + i * 2 ** 22 })),
      device_traces: [trace],
      external_annotations: annotations,
    }),
  );
}

const LOG = [
  '[rank3]: Traceback (most recent call last):',
  '[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 77.89 GiB memory in use. Of the allocated memory 70.12 GiB is allocated by PyTorch, and 5.61 GiB is reserved by PyTorch but unallocated.',
  '',
].join('\n');

/** The content of the store, without its ids: they depend on the order of ingests, and a killed one may leave gaps. */
async function contents(store: Store): Promise<unknown> {
  return [
    await store.select(
      `SELECT display_path, device, count(*) AS n, sum(size_bytes)::BIGINT AS bytes,
         bit_xor(hash(seq, action, addr, size_bytes, time_us, content_key, text))::VARCHAR AS digest
       FROM event JOIN snapshot USING (snapshot_id) JOIN source USING (source_id)
       LEFT JOIN stack USING (stack_id) LEFT JOIN text_value ON text_id = user_metadata_id GROUP BY ALL ORDER BY ALL`,
    ),
    await store.select(
      `SELECT bit_xor(hash(content_key, pos, name, filename, line))::VARCHAR AS digest FROM stack_frame JOIN stack USING (stack_id) JOIN frame USING (frame_id)`,
    ),
    await store.select(
      'SELECT handle, snapshot.rank, display_path FROM snapshot JOIN source USING (source_id) ORDER BY ALL',
    ),
    await store.select(
      'SELECT display_path, kind, incident.rank, requested_bytes FROM incident JOIN source USING (source_id) ORDER BY ALL',
    ),
    await store.select('SELECT display_path, status, sha256, rank FROM source ORDER BY ALL'),
    await digests(store),
  ];
}

/** Of the rows of every table, without numbers that an ingest hands out, and times of the ingest. */
async function digests(store: Store): Promise<unknown> {
  const tables = await store.select(
    `SELECT table_name AS name, list(column_name ORDER BY column_index) AS columns
     FROM duckdb_columns() JOIN duckdb_tables() USING (table_name)
     WHERE duckdb_columns.schema_name = 'main' AND estimated_size > 0 AND table_name <> 'mbforensics_schema'
       AND NOT regexp_matches(column_name, '_id$|_at$') GROUP BY ALL ORDER BY ALL`,
  );
  const rows: unknown[] = [];
  for (const { name, columns } of tables) {
    const list = (columns as string[]).map((column) => `"${column}"`).join(', ');
    rows.push(name, await store.select(`SELECT count(*) AS n, sum(hash(${list}))::VARCHAR AS digest FROM "${name}"`));
  }
  return rows;
}

async function reading<T>(file: string, look: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(file, { mode: 'read' });
  try {
    return await look(store);
  } finally {
    await store.close();
  }
}

/** Starts an ingest and ends it by a signal after `delayMs`; whether it was still running. */
async function killedIngest(db: string, delayMs: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<boolean> {
  const child = spawn(process.execPath, [join(build, 'src', 'cli', 'main.js'), 'ingest', 'run', '--db', db], {
    cwd: root,
    stdio: 'ignore',
    env: { ...process.env, TMPDIR: temporary },
  });
  // Before its handler is there, a signal ends it by itself; afterwards it is in the exit code.
  const ended = new Promise<boolean>((done) => child.on('close', (code, by) => done(by === signal || code! > 128)));
  await sleep(delayMs);
  child.kill(signal);
  return await ended;
}

beforeAll(async () => {
  build = sharedBuild();
  cli = warmCliOf(join(build, 'src', 'cli', 'main.js'));
  const run = join(root, 'run');
  mkdirSync(run);
  for (let rank = 0; rank < FILES; rank++) {
    const name = `snapshot_${String(rank).padStart(2, '0')}.pickle`;
    const entries = 4_500 + rank * 377;
    writeFileSync(join(run, name), bigPickle(rank, entries));
    truth.set(name, entries);
  }
  // In the walking order it is between the snapshots.
  writeFileSync(join(run, 'snapshot_05_train.log'), LOG);
  truth.set('snapshot_05_train.log', 0);
  const start = performance.now();
  const complete = await runCli(build, ['ingest', 'run', '--db', 'whole.duckdb'], root);
  fullMs = performance.now() - start;
  expect(complete.code, complete.stderr).toBe(0);
  await reading(join(root, 'whole.duckdb'), async (store) => {
    wholeCounts = await dataCounts(store);
    wholeContents = await contents(store);
    await expectSound(store);
  });
  expect(wholeCounts['event']).toBe([...truth.values()].reduce((sum, n) => sum + n, 0));
  expect(wholeCounts['incident']).toBe(1);
});

async function expectWholeSourcesOnly(db: string): Promise<string[]> {
  const listed = ask('sources', '--json', '--db', db);
  if (listed.status === 2) {
    // Killed before the store existed: then the file does not exist either.
    expect(listed.stderr).toContain('MBF1004');
    expect(existsSync(join(root, db))).toBe(false);
    return [];
  }
  expect(listed.status, listed.stderr).toBe(0);
  const { sources } = JSON.parse(listed.stdout) as { sources: SourceLine[] };
  const done = sources.map(({ path }) => path);
  expect(sources.every(({ status }) => status === 'ingested')).toBe(true);
  // In order, without a gap: exactly those that were finished.
  expect(done).toEqual([...truth.keys()].sort().slice(0, done.length));
  await reading(join(root, db), async (store) => {
    await expectSound(store);
    const rows = await store.select(
      'SELECT display_path AS path, count(event.snapshot_id) AS n FROM source LEFT JOIN snapshot USING (source_id) LEFT JOIN event USING (snapshot_id) GROUP BY ALL ORDER BY 1',
    );
    expect(rows).toEqual(done.map((path) => ({ path, n: truth.get(path) })));
    const counts = await dataCounts(store);
    const snapshots = done.filter((path) => path.endsWith('.pickle')).length;
    expect(counts).toMatchObject({
      snapshot: snapshots,
      segment: snapshots * 50,
      block: snapshots * 100,
      annotation: snapshots * 100,
      event: done.reduce((sum, path) => sum + truth.get(path)!, 0),
      incident: done.length - snapshots,
    });
  });
  return done;
}

describe(`kill -9 and other signals at ${KILLS} moments of an ingest`, () => {
  const finished: number[] = [];
  /** Follows the machine, whose other work comes and goes. */
  let expectedMs = 0;
  beforeAll(() => {
    expectedMs = fullMs;
  });

  it.each(Array.from({ length: KILLS }, (_, i) => i))('moment %i', async (i) => {
    const db = `killed-${i}.duckdb`;
    // The first seventh is the start of the process, where every moment is like the next.
    const share = 0.15 + (0.85 * (i + seeded(i)())) / KILLS;
    const killed = await killedIngest(db, share * expectedMs, SIGNALS[i % SIGNALS.length]!);
    const done = await expectWholeSourcesOnly(db);
    if (!killed) {
      expect(done).toHaveLength(truth.size);
      expectedMs *= 0.8;
    } else if (done.length === 0 && share > 0.5) expectedMs *= 1.25;
    finished.push(done.length);

    const second = ask('ingest', 'run', '--json', '--db', db);
    expect(second.status, second.stderr).toBe(0);
    const { sources } = JSON.parse(second.stdout) as { sources: SourceLine[] };
    expect(sources.map(({ path, status }) => [path, status])).toEqual(
      [...truth.keys()].sort().map((path, at) => [path, at < done.length ? 'unchanged' : 'ingested']),
    );
    await reading(join(root, db), async (store) => {
      await expectSound(store);
      expect(await dataCounts(store)).toEqual(wholeCounts);
      expect(await contents(store)).toEqual(wholeContents);
    });
    // Nothing is left next to the store: no log, no spill directory, no unfinished store.
    expect(readdirSync(root).filter((name) => name.startsWith(db))).toEqual([db]);
    expect(readdirSync(temporary)).toEqual([]);
    rmSync(join(root, db));
  });

  it('killed again and again, it gets there', async () => {
    const db = 'stubborn.duckdb';
    const random = seeded(99);
    let last = 0;
    for (let i = 0; i < runs(2, 4); i++) {
      await killedIngest(db, (0.3 + 0.4 * random()) * fullMs);
      const done = await expectWholeSourcesOnly(db);
      expect(done.length).toBeGreaterThanOrEqual(last);
      last = done.length;
    }
    const final = await runCli(build, ['ingest', 'run', '--db', db], root);
    expect(final.code, final.stderr).toBe(0);
    await reading(join(root, db), async (store) => {
      expect(await dataCounts(store)).toEqual(wholeCounts);
      expect(await contents(store)).toEqual(wholeContents);
    });
  });

  it('met the ingest in the middle, or it proves nothing', async () => {
    const isBetween = (count: number): boolean => count > 0 && count < truth.size;
    // Where the load of the machine changed meanwhile, all moments may have been too early or too late.
    let delayMs = expectedMs / 2;
    for (let i = 0; i < 12 && !finished.some(isBetween); i++) {
      const db = `sought-${i}.duckdb`;
      await killedIngest(db, delayMs);
      const done = await expectWholeSourcesOnly(db);
      finished.push(done.length);
      delayMs *= done.length === 0 ? 1.25 : 0.75;
    }
    console.info(`a whole ingest took ${Math.round(fullMs)} ms; finished when killed: ${finished.join(' ')}`);
    const between = finished.filter(isBetween);
    expect(new Set(between).size).toBeGreaterThanOrEqual(runs(1, 3));
  });
});

/** Whole ingests into real stores: what is kept, replaced, refused and named. */
import { appendFileSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import type { IngestOptions } from '../../src/ingest/options.js';
import type { IngestResult } from '../../src/model/results/common.js';
import type { Store } from '../../src/store/store.js';
import { scratchDirectory } from '../store/scratch.js';
import { newStore } from '../support/new-store.js';
import { BASE, type SmallSnapshot, smallSnapshot } from '../support/small-snapshot.js';

let root = '';
let store: Store;

const OOM_LINE =
  '[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB of which ' +
  '1.00 GiB is free. Including non-PyTorch memory, this process has 78.00 GiB memory in use. Of the allocated memory 70.00 GiB is ' +
  'allocated by PyTorch, and 6.00 GiB is reserved by PyTorch but unallocated.\n';

function put(path: string, bytes: string | Uint8Array): string {
  const full = join(root, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, bytes);
  return full;
}

const at = (path: string): string => join(root, path);

async function run(paths: readonly string[], options: Partial<IngestOptions> = {}): Promise<IngestResult> {
  return ingest({ rowsOnly: true, store, parsers: PARSERS, paths: paths.map(at), now: new Date(), ...options });
}

/** Status by path. */
const statuses = (result: IngestResult): Record<string, string> =>
  Object.fromEntries(result.sources.map((source) => [source.path, source.status]));

/** `name status` of each source. */
const lines = (result: IngestResult): string[] => result.sources.map(({ path, status }) => `${path} ${status}`);
const column = async (sql: string): Promise<unknown[]> => (await store.select(sql)).map((row) => Object.values(row)[0]);
const handles = (): Promise<unknown[]> => column('SELECT handle FROM snapshot ORDER BY handle');

async function count(table: string, where = 'true'): Promise<number> {
  const [row] = await store.select(`SELECT count(*) AS n FROM ${table} WHERE ${where}`);
  return Number(row!['n']);
}

const DATA_TABLES = [
  ...['snapshot', 'snapshot_feature', 'snapshot_setting', 'snapshot_pool', 'snapshot_device', 'snapshot_action'],
  ...['trace_oom', 'event_extra', 'annotation', 'event', 'segment', 'block', 'incident', 'incident_value'],
  ...['ingest_note', 'source', 'run', 'attempt', 'text_value', 'frame', 'stack', 'stack_frame'],
];

async function counts(): Promise<Record<string, number>> {
  const columns = DATA_TABLES.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`);
  return (await store.select(`SELECT ${columns.join(', ')}`))[0] as Record<string, number>;
}

/** Rows of sources or snapshots that no longer exist. */
async function orphans(): Promise<string[]> {
  const orphans: string[] = [];
  for (const table of DATA_TABLES) {
    const columns = (await store.select(`DESCRIBE ${table}`)).map((row) => row['column_name']);
    for (const [column, owner] of [
      ['snapshot_id', 'snapshot'],
      ['source_id', 'source'],
      ['incident_id', 'incident'],
      ['run_id', 'run'],
    ] as const) {
      if (table === owner || !columns.includes(column)) continue;
      if ((await count(table, `${column} NOT IN (SELECT ${column} FROM ${owner})`)) > 0)
        orphans.push(`${table}.${column}`);
    }
  }
  return orphans;
}

const SMALL: SmallSnapshot = {
  segments: [[{ size: 1_048_576 }, { size: 1_048_576, state: 'inactive' }], [{ size: 4_194_304 }]],
  entries: [
    { action: 'alloc', addr: BASE, size: 1_048_576, stack: ['model.py:1', 'train.py:2'] },
    { action: 'alloc', addr: BASE + 2 ** 32, size: 4_194_304, stack: ['model.py:3', 'train.py:2'] },
  ],
};

beforeEach(async () => {
  root = realpathSync(scratchDirectory());
  store = await newStore(at('store.duckdb'));
});
afterEach(() => store.close());

describe('a second ingest', () => {
  it('leaves unchanged files as they are, rows, ids and notes', async () => {
    put('run/snapshot_0.pickle', smallSnapshot({ ...SMALL, top: { color: 'red' } }));
    put('run/train.log', OOM_LINE);
    const first = await run(['run']);
    expect(lines(first)).toEqual(['snapshot_0.pickle ingested', 'train.log ingested']);
    const before = await counts();
    const ids = await store.select('SELECT source_id, sha256, ingested_at FROM source ORDER BY source_id');
    const second = await run(['run']);
    expect(lines(second)).toEqual(['snapshot_0.pickle unchanged', 'train.log unchanged']);
    expect(await counts()).toEqual(before);
    expect(await store.select('SELECT source_id, sha256, ingested_at FROM source ORDER BY source_id')).toEqual(ids);
    const strip = (result: IngestResult) => result.sources.map(({ status: _, ...rest }) => rest);
    expect(strip(second)).toEqual(strip(first));
    expect(first.sources[0]!.notes.length).toBeGreaterThan(0);
  });

  it('replaces a changed file and only that', async () => {
    put('run/snapshot_0.pickle', smallSnapshot(SMALL));
    put('run/snapshot_1.pickle', smallSnapshot(SMALL));
    put('run/train.log', OOM_LINE);
    await run(['run']);
    put('run/snapshot_0.pickle', smallSnapshot({ segments: [[{ size: 2_097_152 }]], entries: [] }));
    appendFileSync(at('run/train.log'), 'iteration 7\n');
    const result = await run(['run']);
    expect(lines(result)).toEqual(['snapshot_0.pickle ingested', 'snapshot_1.pickle unchanged', 'train.log ingested']);
    expect(await orphans()).toEqual([]);
    const before = await counts();
    expect(before).toMatchObject({ source: 3, snapshot: 2, event: 2, segment: 3, block: 4, incident: 1, run: 1 });
    const [device] = await store.select(
      'SELECT reserved_bytes, events FROM snapshot_device JOIN snapshot USING (snapshot_id) WHERE rank = 0',
    );
    expect(device).toEqual({ reserved_bytes: 2_097_152, events: null });
    expect(await handles()).toEqual(['run/0/snapshot#1', 'run/1/snapshot#1']);
  });

  it('reads unchanged bytes again for a newer parser', async () => {
    put('run/snapshot_0.pickle', smallSnapshot(SMALL));
    await run(['run']);
    const before = await counts();
    await store.run('UPDATE source SET parser_version = 0');
    expect(lines(await run(['run']))).toEqual(['snapshot_0.pickle ingested']);
    expect(await counts()).toEqual(before);
    expect(await orphans()).toEqual([]);
  });

  it('turns a file that went bad into one failed row, and back', async () => {
    const good = smallSnapshot({ ...SMALL, top: { color: 'red' } });
    put('run/snapshot_0.pickle', good);
    put('run/snapshot_1.pickle', smallSnapshot(SMALL));
    await run(['run']);
    const before = await counts();
    put('run/snapshot_0.pickle', good.subarray(0, good.length - 40));
    const bad = await run(['run']);
    expect(lines(bad)).toEqual(['snapshot_0.pickle failed', 'snapshot_1.pickle unchanged']);
    expect(bad.sources[0]!.error).toMatchObject({ code: 'MBF2101', offset: expect.any(Number) });
    expect(bad.sources[0]!.error!.text).toContain('snapshot_0.pickle');
    expect(await orphans()).toEqual([]);
    expect(await counts()).toMatchObject({
      source: 2,
      snapshot: 1,
      event: 2,
      segment: 2,
      block: 3,
      snapshot_device: 1,
    });
    expect(
      await store.select(`SELECT status, error_code FROM source WHERE display_path = 'snapshot_0.pickle'`),
    ).toEqual([{ status: 'failed', error_code: 'MBF2101' }]);
    // A failed file is tried again even if nothing changed.
    expect(statuses(await run(['run']))['snapshot_0.pickle']).toBe('failed');
    put('run/snapshot_0.pickle', good);
    expect(statuses(await run(['run']))['snapshot_0.pickle']).toBe('ingested');
    expect(await counts()).toEqual(before);
    expect(await orphans()).toEqual([]);
  });
});

describe('runs', () => {
  it('of one base name under two roots stay separate', async () => {
    put('a/latest/snapshot_0.pickle', smallSnapshot(SMALL));
    put('b/latest/snapshot_0.pickle', smallSnapshot(SMALL));
    const first = await run(['a/latest']);
    const second = await run(['b/latest']);
    expect([first.runs[0]!.name, second.runs[0]!.name]).toEqual(['latest', 'b/latest']);
    expect((await run(['b/latest'])).runs[0]!.name).toBe('b/latest');
    expect(await count('run')).toBe(2);
    expect(await handles()).toEqual(['b/latest/0/snapshot#1', 'latest/0/snapshot#1']);
  });

  it('are one with --run, whatever the paths', async () => {
    put('logs/train.log', OOM_LINE);
    put('snaps/snapshot_3.pickle', smallSnapshot(SMALL));
    const labels = { label: 'golden', commit: 'abc1234' };
    const result = await run(['logs', 'snaps/snapshot_3.pickle'], { run: 'night-shift', ...labels });
    expect(result.runs).toEqual([{ name: 'night-shift', ...labels, path: at('logs') }]);
    expect(await count('run')).toBe(1);
    expect(await count('source')).toBe(2);
    // The name alone identifies the run: another path joins it; label and commit stay unless they are given.
    put('more/snapshot_4.pickle', smallSnapshot(SMALL));
    await run(['more'], { run: 'night-shift', commit: 'def5678' });
    expect(await store.select('SELECT name, label, commit_sha FROM run')).toEqual([
      { name: 'night-shift', label: 'golden', commit_sha: 'def5678' },
    ]);
    expect(await count('source')).toBe(3);
  });

  it('give label and commit as stored', async () => {
    put('run/train.log', OOM_LINE);
    await run(['run'], { label: 'golden', commit: 'abc1234' });
    expect((await run(['run'])).runs[0]).toMatchObject({ label: 'golden', commit: 'abc1234' });
  });

  it('are the subdirectories with --each', async () => {
    for (const name of ['x', 'y', 'z']) put(`runs/${name}/train.log`, OOM_LINE);
    const result = await run(['runs'], { each: true, label: 'nightly' });
    expect(result.runs.map(({ name, label }) => `${name} ${label}`)).toEqual(['x nightly', 'y nightly', 'z nightly']);
    expect(await count('incident')).toBe(3);
  });

  it('are listed with the one ingested last first, also when it is an old one', async () => {
    for (const name of ['a', 'b']) put(`${name}/train.log`, OOM_LINE);
    const names = async () => (await store.all('store.runs', { run_id: null })).map((row) => row.name);
    await run(['a'], { now: new Date(1000) });
    await run(['b'], { now: new Date(2000) });
    expect(await names()).toEqual(['b', 'a']);
    await run(['a'], { now: new Date(3000) });
    expect(await names()).toEqual(['a', 'b']);
    expect((await store.all('store.runs', { run_id: null }))[0]!.created_at).toBe(
      (await store.select(`SELECT created_at FROM run WHERE name = 'a'`))[0]!['created_at'],
    );
  });
});

describe('files', () => {
  it('are read through gzip, with the same rows', async () => {
    const bytes = smallSnapshot(SMALL);
    put('plain/snapshot_5.pickle', bytes);
    put('packed/snapshot_5.pickle.gz', gzipSync(bytes));
    put('packed/train.log.gz', gzipSync(OOM_LINE));
    expect(lines(await run(['plain', 'packed']))).toEqual([
      'snapshot_5.pickle ingested',
      'snapshot_5.pickle.gz ingested',
      'train.log.gz ingested',
    ]);
    const rows = await store.select('SELECT * EXCLUDE (snapshot_id) FROM event ORDER BY snapshot_id, seq');
    expect(rows.length).toBe(4);
    expect(rows.slice(0, 2)).toEqual(rows.slice(2));
    expect(await column('SELECT rank FROM snapshot')).toEqual([5, 5]);
    expect(await count('incident', 'rank = 3')).toBe(1);
  });

  it('give their snapshots handles by run and rank', async () => {
    put('run/iteration_10/rank2_memory_snapshot.pickle', smallSnapshot(SMALL));
    put('run/iteration_20/rank2_memory_snapshot.pickle', smallSnapshot(SMALL));
    put('run/memory.pickle', smallSnapshot(SMALL));
    const result = await run(['run']);
    expect(result.sources.map(({ path, rank }) => `${path} ${rank}`)).toEqual([
      'iteration_10/rank2_memory_snapshot.pickle 2',
      'iteration_20/rank2_memory_snapshot.pickle 2',
      'memory.pickle null',
    ]);
    const listed = await store.all('snapshot.list', { run_id: null, handle: null });
    expect(listed.map(({ handle, rank }) => `${handle} ${rank}`)).toEqual([
      'run/-/snapshot#1 null',
      'run/2/snapshot#1 2',
      'run/2/snapshot#2 2',
    ]);
    expect(await store.select(`SELECT DISTINCT rank_origin FROM source WHERE rank = 2`)).toEqual([
      { rank_origin: 'name:rank in file name' },
    ]);
  });

  it('take a rank from their directory also when they are named themselves', async () => {
    put('run/rank_7/trace.pickle', smallSnapshot(SMALL));
    expect((await run(['run/rank_7/trace.pickle'])).sources[0]).toMatchObject({ path: 'trace.pickle', rank: 7 });
  });

  it('have equal notes folded into one with a count', async () => {
    const entry = (n: number) => ({ action: 'alloc', addr: BASE + n * 512, size: 512, extra: { color: n } });
    const entries = Array.from({ length: 50 }, (_, n) => entry(n));
    put('run/snapshot_0.pickle', smallSnapshot({ segments: [], entries }));
    const [source] = (await run(['run'])).sources;
    const unknown = source!.notes.filter((note) => note.kind === 'unknown_key');
    expect(unknown).toMatchObject([{ count: 50, device: 0, seq: 0, severity: 'info' }]);
    expect(await count('ingest_note', `kind = 'unknown_key' AND count = 50`)).toBe(1);
    const extras = await store.select('SELECT seq, key, value_json FROM event_extra ORDER BY seq');
    expect(extras).toEqual(entries.map((_, seq) => ({ seq, key: 'color', value_json: String(seq) })));
  });

  it('report skipped requests only if a lost ring entry cannot explain them', async () => {
    const freed = (n: number) => ({ action: 'free_completed', addr: BASE + n * 512, size: 512 });
    put('run/ring.pickle', smallSnapshot({ entries: [freed(0)] }));
    put('run/skipped.pickle', smallSnapshot({ entries: [freed(0), freed(1)] }));
    const { sources } = await run(['run']);
    const kinds = (name: string) => sources.find(({ path }) => path === name)!.notes.map(({ kind }) => kind);
    expect(kinds('ring.pickle')).toEqual(['ring_probably_truncated']);
    expect(kinds('skipped.pickle')).toEqual(['actions_skipped']);
  });

  it('of unknown formats are skipped with a reason, but fail if they are named', async () => {
    put('run/weights.safetensors', 'x');
    put('run/table.dat', Buffer.from([0, 1, 2, 3, 255, 254, 0, 0]));
    const walked = await run(['run']);
    expect(walked.sources.map(({ status }) => status)).toEqual(['skipped', 'skipped']);
    expect(walked.sources.every(({ notes, error }) => notes.length > 0 || error !== null)).toBe(true);
    const named = await run(['run/table.dat'], { explain: true });
    expect(named.sources[0]).toMatchObject({ status: 'failed', error: { code: expect.stringMatching(/^MBF20/) } });
    expect(named.sources[0]!.detection!.map(({ parser }) => parser).sort()).toEqual(PARSERS.map(({ id }) => id).sort());
  });

  it('of one ingest succeed or fail independently', async () => {
    const good = smallSnapshot(SMALL);
    put('run/snapshot_0.pickle', good.subarray(0, 200));
    put('run/snapshot_1.pickle', good);
    put('run/snapshot_2.pickle', 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n');
    put('run/snapshot_3.pickle', '');
    expect(lines(await run(['run']))).toEqual([
      'snapshot_0.pickle failed',
      'snapshot_1.pickle ingested',
      'snapshot_2.pickle failed',
      'snapshot_3.pickle failed',
    ]);
    const failed = await column(`SELECT error_code FROM source WHERE status = 'failed' ORDER BY display_path`);
    expect(failed).toEqual(['MBF2101', 'MBF2001', 'MBF2004']);
    expect(await count('snapshot')).toBe(1);
  });

  it('never include the store itself', async () => {
    const inside = join(root, 'run', 'own.duckdb');
    put('run/train.log', OOM_LINE);
    const ownStore = await newStore(inside);
    try {
      const result = await ingest({
        rowsOnly: true,
        store: ownStore,
        parsers: PARSERS,
        paths: [at('run')],
        now: new Date(),
      });
      expect(lines(result).filter((line) => line.endsWith(' ingested'))).toEqual(['train.log ingested']);
      expect(result.sources.some(({ status }) => status === 'failed')).toBe(false);
    } finally {
      await ownStore.close();
      rmSync(inside, { force: true });
    }
  });
});

describe('failure lines without end', () => {
  it('are kept up to a number, then only those of another rank; the others are counted', async () => {
    const repeated = '[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n'.repeat(5000);
    put('train.log', `${repeated}${OOM_LINE}${repeated}`);
    await run(['train.log']);
    expect(await count('incident')).toBe(4097);
    expect(await count('incident', 'rank = 3')).toBe(1);
    const [note] = await store.select("SELECT count FROM ingest_note WHERE kind = 'incidents_dropped'");
    expect(Number(note!['count'])).toBe(5904);
  });
});

/** One export in every form in which it may come gives the same rows; whole ingests into real stores. */
import { mkdtempSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { type IngestOptions, ingest } from '../../src/ingest/ingest.js';
import type { IngestResult, IngestSource } from '../../src/model/results/common.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { skipLoudly } from '../support/corpus.js';
import { plantedScenario } from '../support/nsys/scenario.js';
import { NSYS_SCHEMAS, sqlite3Program, writeNsysExport } from '../support/nsys/write-export.js';
import {
  allTexts,
  changed,
  globalPid,
  globalTid,
  HOME,
  type JsonSpelling,
  jsonLines,
  PID,
  put,
  SECRETS,
  type Stored,
  smallExport,
  sqliteBytes,
  storedRows,
  storedZstd,
  type Tables,
  UTC_NS,
  without,
  writeParquetFolder,
} from '../support/nsys-export.js';

let root = '';
let store: Store;
async function open(): Promise<void> {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'mbf-nsys-')));
  store = await openStore(join(root, 'store.duckdb'), { mode: 'write' });
}
async function close(): Promise<void> {
  await store.close();
  rmSync(root, { recursive: true, force: true });
}
/** A directory and a store for each test of a suite. */
function storeForEach(): void {
  beforeEach(open);
  afterEach(close);
}
/** The same for all of them: their files have different names. */
function storeForAll(): void {
  beforeAll(open);
  afterAll(close);
}

const at = (path: string): string => join(root, path);

async function run(paths: readonly string[], options: Partial<IngestOptions> = {}): Promise<IngestResult> {
  return ingest({ store, parsers: PARSERS, paths: paths.map(at), now: new Date(0), ...options });
}

const statuses = (result: IngestResult): Record<string, string> =>
  Object.fromEntries(result.sources.map((source) => [source.path, source.error?.code ?? source.status]));

/** Ingests a file as a run of its own. */
async function take(path: string, options: Partial<IngestOptions> = {}): Promise<IngestSource> {
  const { sources } = await run([path], options);
  expect(sources).toHaveLength(1);
  return sources[0]!;
}

async function rowsOf(path: string): Promise<Stored> {
  const [row] = await store.select('SELECT source_id FROM source WHERE path = $path', { path: at(path) });
  return storedRows(store, Number(row!['source_id']));
}

async function count(table: string, where = 'true'): Promise<number> {
  const [row] = await store.select(`SELECT count(*) AS n FROM ${table} WHERE ${where}`);
  return Number(row!['n']);
}

async function report(path = 'a.sqlite'): Promise<Record<string, unknown>> {
  const [row] = await store.select(
    'SELECT r.* FROM nsys_report AS r JOIN source USING (source_id) WHERE path = $path',
    {
      path: at(path),
    },
  );
  return row!;
}

const EXPORT = smallExport();
const SQLITE = sqliteBytes(EXPORT);

describe('the rows of a SQLite export', () => {
  storeForAll();
  beforeAll(async () => {
    put(at('a.sqlite'), SQLITE);
    expect(await take('a.sqlite')).toMatchObject({ status: 'ingested', format: 'nsys', rank: 3, notes: [] });
  });

  it('are as many as in the file, table by table', async () => {
    const counted = await store.select('SELECT name, row_count FROM nsys_table ORDER BY name');
    const expected = Object.entries(EXPORT).map(([name, { rows }]) => ({ name, row_count: rows.length }));
    expect(counted.map((row) => ({ ...row, row_count: Number(row['row_count']) }))).toEqual(
      expected.sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
  });

  it('say what the file says', async () => {
    expect(
      await store.select(
        'SELECT start_ns, pid, device, context, stream, operation, kind, address, bytes, pc, pool_address, pool_bytes, pool_used_bytes FROM nsys_memory WHERE seq IN (1, 4) ORDER BY seq',
      ),
    ).toEqual([
      {
        start_ns: 2000,
        pid: PID,
        device: 0,
        context: 1,
        stream: 7,
        operation: 'allocation',
        kind: 'device',
        address: 0x7f00_0020_0000,
        bytes: 20 * 2 ** 20,
        pc: 0x7ec0_1000_2110,
        pool_address: null,
        pool_bytes: null,
        pool_used_bytes: null,
      },
      expect.objectContaining({
        kind: 'device',
        pool_address: 0x303_0000_0000,
        pool_bytes: 2 ** 25,
        pool_used_bytes: 512,
      }),
    ]);
    expect(
      await store.select('SELECT api, return_value, event_class, pid, tid FROM nsys_call ORDER BY start_ns'),
    ).toEqual([
      { api: 'cudaMalloc', return_value: 0, event_class: 0, pid: PID, tid: PID },
      { api: 'cudaMalloc', return_value: 0, event_class: 0, pid: PID, tid: PID },
      { api: 'cudaLaunchKernel', return_value: 0, event_class: 0, pid: PID, tid: PID },
      { api: 'cuLaunchKernelEx', return_value: 0, event_class: 1, pid: PID, tid: PID },
      { api: 'cudaMalloc', return_value: 2, event_class: 0, pid: PID, tid: PID },
    ]);
    expect(
      await store.select('SELECT text, domain_name, start_ns, end_ns, tid, end_tid FROM nsys_range ORDER BY start_ns'),
    ).toEqual([
      { text: 'step 1 – größer', domain_name: null, start_ns: -2000, end_ns: 50_000, tid: PID, end_tid: null },
      { text: 'ncclAllReduce', domain_name: 'NCCL', start_ns: 500, end_ns: 9000, tid: PID, end_tid: null },
      { text: 'over threads', domain_name: null, start_ns: 700, end_ns: 800, tid: PID, end_tid: PID + 1 },
      { text: 'never ended', domain_name: null, start_ns: 40_000, end_ns: null, tid: PID, end_tid: null },
    ]);
    expect(await store.select('SELECT origin, fate, bytes FROM nsys_allocation ORDER BY address, alloc_ns')).toEqual([
      { origin: 'traced', fate: 'open', bytes: 512 },
      { origin: 'traced', fate: 'open', bytes: 2 ** 16 },
      { origin: 'traced', fate: 'open', bytes: 4096 },
      { origin: 'traced', fate: 'freed', bytes: 2 ** 21 },
      { origin: 'traced', fate: 'open', bytes: 20 * 2 ** 20 },
    ]);
    expect(await store.select('SELECT blocks, threads, registers, stream FROM nsys_kernel ORDER BY start_ns')).toEqual([
      { blocks: 528, threads: 128, registers: 64, stream: 7 },
      { blocks: 528, threads: 128, registers: 64, stream: 13 },
    ]);
    // 2^32 − 1 is "none".
    expect(await store.select('SELECT stream, sync_type FROM nsys_sync ORDER BY start_ns')).toEqual([
      { stream: 7, sync_type: 3 },
      { stream: null, sync_type: 4 },
    ]);
    expect(await store.select('SELECT * EXCLUDE (source_id) FROM nsys_gpu')).toEqual([
      { gpu: 5, name: 'NVIDIA H100', total_bytes: 85_000_000_000, bus_location: '0000:1b:00.0', uuid: 'GPU-5' },
    ]);
    expect(await store.select('SELECT pid, device, gpu FROM nsys_device')).toEqual([{ pid: PID, device: 0, gpu: 5 }]);
    expect(await store.select('SELECT time_ns, severity, text FROM nsys_diagnostic')).toEqual([
      { time_ns: 1000, severity: 'warning', text: 'Loaded …/lib.so.12, and not all events.' },
    ]);
    expect(await store.select('SELECT name FROM nsys_thread')).toEqual([{ name: 'pt_main_thread' }]);
    expect(await store.select('SELECT pid, name, rank FROM nsys_process')).toEqual([
      { pid: PID, name: 'python3', rank: 3 },
    ]);
    expect(await report()).toMatchObject({
      form: 'sqlite',
      product_version: '2026.1.1.204',
      schema_version: '3.24.14',
      clock_offset_ns: UTC_NS,
      duration_ns: 2_000_000_000,
      host: 'small-node-07',
      memory_events_collected: true,
      graph_trace: 'Graph',
      is_partial: false,
      has_all_tables: false,
    });
  });

  it('name the rank and the host that the environment tells', async () => {
    expect(await store.select('SELECT key, value, rank, host FROM env_value ORDER BY key')).toEqual([
      { key: 'RANK', value: '3', rank: 3, host: 'small-node-07' },
      { key: 'WORLD_SIZE', value: '8', rank: 3, host: 'small-node-07' },
    ]);
    expect(await store.select('SELECT rank, rank_origin FROM source')).toEqual([
      { rank: 3, rank_origin: expect.stringMatching(/RANK/) },
    ]);
  });

  it('keep nothing that is private', async () => {
    const texts = await allTexts(store);
    for (const secret of [...SECRETS, HOME, 'small-user'])
      expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    for (const other of ['someone-else', 'not of the job']) expect(texts).not.toContain(other);
  });
});

describe('the same export in other forms', () => {
  let expected: Stored;
  storeForAll();
  beforeAll(async () => {
    put(at('a.sqlite'), SQLITE);
    await take('a.sqlite');
    expected = await rowsOf('a.sqlite');
    expect(expected['nsys_memory']).toHaveLength(6);
  });

  it.each([
    ['run.sqlite.gz', gzipSync(SQLITE)],
    ['run.sqlite.zst', storedZstd(SQLITE), ['zstd_unchecked']],
    ['with pages of 512 bytes.sqlite', sqliteBytes(EXPORT, 512)],
    ['with pages of 64 KiB.sqlite', sqliteBytes(EXPORT, 65_536)],
    ['run.db', SQLITE],
    ['no-suffix', SQLITE],
  ] as const)('SQLite: %s', async (name, bytes, kinds: readonly string[] = []) => {
    put(at(name), bytes);
    const { status, rank, notes } = await take(name);
    expect([status, rank, notes.map(({ kind }) => kind)]).toEqual(['ingested', 3, kinds]);
    expect(await rowsOf(name)).toEqual(expected);
  });

  it.each([
    ['64-bit integers', {}],
    ['32-bit integers and unsigned ids', { integers: 'INTEGER' }],
    ['dictionaries', { dictionaries: true }],
  ] as const)('a folder of Parquet files with %s', async (what, spelling) => {
    const name = `${what}/run_pqtdir`;
    await writeParquetFolder(at(name), EXPORT, spelling);
    expect(await take(name)).toMatchObject({ status: 'ingested', format: 'nsys', rank: 3, notes: [] });
    expect(await rowsOf(name)).toEqual(expected);
    expect((await report(name))['form']).toBe('parquetdir');
  });

  it('a folder of Parquet files in a directory with an odd name', async () => {
    const name = "odd [1] * 'x' ?/a_pqtdir";
    await writeParquetFolder(at(name), EXPORT);
    expect(await take(name)).toMatchObject({ status: 'ingested' });
    expect(await rowsOf(name)).toEqual(expected);
  });

  describe.each([
    ['one table of strings', {}],
    ['a line for each string', { strings: 'lines' }],
    ['memory records in capitals', { memory: 'capitals' }],
    ['memory records in an inner object', { memory: 'nested' }],
    ['zeros left out', { omitsZeros: true, memory: 'capitals' }],
  ] satisfies [string, JsonSpelling][])('JSON lines with %s', (what, spelling) => {
    const names = what.startsWith('one table')
      ? ['run.jsonl', 'run.json', 'run.json.gz', 'run.jsonl.zst']
      : ['run.jsonl'];
    it.each(names)('%s', async (base) => {
      const name = `${what}/${base}`;
      const lines = Buffer.from(jsonLines(EXPORT, spelling));
      put(at(name), name.endsWith('.gz') ? gzipSync(lines) : name.endsWith('.zst') ? storedZstd(lines) : lines);
      const { status, format, rank, notes } = await take(name);
      expect([status, format, rank]).toEqual(['ingested', 'nsys', 3]);
      expect(notes.map(({ kind }) => kind)).toEqual(name.endsWith('.zst') ? ['zstd_unchecked'] : []);
      const rows = await rowsOf(name);
      for (const table of Object.keys(expected)) {
        // What the stream has no record of: the machine, the options, the report itself.
        if (['nsys_gpu', 'nsys_device', 'nsys_option', 'nsys_table', 'nsys_report', 'log_env'].includes(table))
          continue;
        expect([table, rows[table]]).toEqual([table, expected[table]]);
      }
      expect(rows['log_env']).toEqual(expected['log_env']!.map((line) => line.replace('"small-node-07"', 'null')));
      expect(await report(name)).toMatchObject({ form: 'jsonlines', memory_events_collected: true });
      for (const secret of SECRETS) expect((await allTexts(store)).filter((text) => text.includes(secret))).toEqual([]);
    });
  });

  it('JSON lines of which some are of no known spelling', async () => {
    const odd = '{"Type":117,"Odd":{"what":1}}\n{"Type":117,"Odd":{"address":"5"}}\n{"Type":129,"Odd":{}}\n';
    put(at('run.jsonl'), jsonLines(EXPORT) + odd);
    const { notes } = await take('run.jsonl');
    expect(notes.map(({ kind, text, count: n }) => [kind, /type \d+/.exec(text)?.[0], n])).toEqual([
      ['nsys_record_unknown', 'type 117', 2],
      ['nsys_record_unknown', 'type 129', 1],
    ]);
    expect((await rowsOf('run.jsonl'))['nsys_memory']).toEqual(expected['nsys_memory']);
  });
});

describe('forms that are not read', () => {
  storeForAll();
  const HDF5 = Buffer.from('\x89HDF\r\n\x1a\n CUPTI_ACTIVITY_KIND_KERNEL', 'latin1');

  it.each([
    ['run.nsys-rep', 'closed', 'nsys export --type sqlite run.nsys-rep'],
    ['run.qdrep', 'closed', 'nsys export --type sqlite run.qdrep'],
    ['run.arrows', 'ARROW1', 'nsys export --type sqlite run.nsys-rep'],
    ['run.h5', HDF5, 'nsys export --type sqlite run.nsys-rep'],
  ])('%s named: MBF2003 with the command', async (name, content, command) => {
    put(at(name), content);
    const { status, error } = await take(name);
    expect([status, error?.code]).toEqual(['failed', 'MBF2003']);
    expect(error?.text).toContain(command);
  });

  it('a folder of Arrow files named: MBF2003 with the command', async () => {
    put(at('run_arwdir/StringIds.arrow'), 'ARROW1');
    put(at('run_arwdir/META_DATA_EXPORT.arrow'), 'ARROW1');
    const { status, error } = await take('run_arwdir');
    expect([status, error?.code]).toEqual(['failed', 'MBF2003']);
    expect(error?.text).toContain('nsys export --type parquetdir run.nsys-rep');
  });

  it('met on a walk: skipped, and what lies beside them is read', async () => {
    put(at('run/run.nsys-rep'), 'closed');
    put(at('run/run.arrows'), 'ARROW1');
    put(at('run/run.h5'), HDF5);
    put(at('run/run_arwdir/META_DATA_EXPORT.arrow'), 'ARROW1');
    put(at('run/run_arwdir/KERNEL.arrow'), 'ARROW1');
    put(at('run/other.sqlite'), sqliteBytes({ users: { columns: { id: 'INTEGER' }, rows: [] } }));
    put(at('run/answers.json'), '{"data": ["yes", "no"]}\n');
    put(at('run/run.sqlite'), SQLITE);
    const { sources } = await run(['run']);
    expect(Object.fromEntries(sources.map(({ path, status, error }) => [path, [status, error?.code]]))).toEqual({
      'answers.json': ['skipped', 'MBF2704'],
      // Named as an export is: somebody takes it for one.
      'other.sqlite': ['failed', 'MBF2703'],
      'run.arrows': ['skipped', 'MBF2003'],
      'run.h5': ['skipped', undefined],
      'run.nsys-rep': ['skipped', 'MBF2003'],
      'run.sqlite': ['ingested', undefined],
      run_arwdir: ['skipped', undefined],
    });
  });
});

describe('every table of an export', () => {
  storeForEach();
  const PRIVATE = ['META_DATA_CAPTURE', 'META_DATA_EXPORT', 'ProcessStreams', 'TARGET_INFO_SYSTEM_ENV'];
  const rawTables = async (): Promise<string[]> =>
    (
      await store.select(
        "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'nsys_raw' ORDER BY 1",
      )
    ).map(({ name }) => String(name));
  const raw = (table: string): Promise<Record<string, unknown>[]> =>
    store.select(`SELECT * EXCLUDE (source_id) FROM nsys_raw."${table}"`);

  async function expectAll(tables: Tables): Promise<void> {
    expect(await rawTables()).toEqual(
      Object.keys(tables)
        .filter((name) => !PRIVATE.includes(name))
        .sort(),
    );
    for (const [name, { columns, rows }] of Object.entries(tables)) {
      if (PRIVATE.includes(name) || name === 'StringIds') continue;
      const exact = (value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);
      const wanted = rows.map((row) =>
        Object.fromEntries(Object.keys(columns).map((column) => [column, exact(row[column] ?? null)])),
      );
      expect([
        name,
        (await raw(name)).map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, exact(v)]))),
      ]).toEqual([name, wanted]);
    }
    const texts = await allTexts(store);
    for (const secret of SECRETS) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    // Private texts apart, those that nobody names are there, too.
    const strings = (await raw('StringIds')).map(({ value }) => value);
    expect(strings).toContain('in no table');
    expect(strings).toContain('not of the job');
    expect(strings.some((text) => /^(?:RANK|WORLD_SIZE)=/.test(String(text)))).toBe(false);
  }

  it('is in the schema nsys_raw, as it stands, from SQLite and from Parquet', async () => {
    put(at('a.sqlite'), SQLITE);
    await writeParquetFolder(at('a_pqtdir'), EXPORT);
    for (const name of ['a.sqlite', 'a_pqtdir']) {
      expect(await take(name, { allTables: true })).toMatchObject({ status: 'ingested', notes: [] });
      expect(await report(name)).toMatchObject({ has_all_tables: true });
      if (name === 'a.sqlite') {
        await expectAll(EXPORT);
        // The other one has no table of its own, but rows.
        await store.run('DELETE FROM source');
        for (const table of await rawTables()) await store.run(`DELETE FROM nsys_raw."${table}"`);
      } else await expectAll(EXPORT);
    }
  });

  it('comes with the first ingest that asks for it, and stays', async () => {
    put(at('a.sqlite'), SQLITE);
    expect((await take('a.sqlite')).status).toBe('ingested');
    expect(await rawTables()).toEqual([]);
    expect((await take('a.sqlite', { allTables: true })).status).toBe('ingested');
    await expectAll(EXPORT);
    expect((await take('a.sqlite', { allTables: true })).status).toBe('unchanged');
    expect((await take('a.sqlite')).status).toBe('unchanged');
    await expectAll(EXPORT);
    expect(await count('nsys_memory')).toBe(6);
  });

  it('is not asked for twice of lines of JSON, which have none', async () => {
    put(at('a.jsonl'), jsonLines(EXPORT));
    expect((await take('a.jsonl', { allTables: true })).status).toBe('ingested');
    expect((await take('a.jsonl', { allTables: true })).status).toBe('unchanged');
    expect(await rawTables()).toEqual([]);
  });

  it('of two exports stands in one table, even if their columns differ', async () => {
    const kernels = EXPORT['CUPTI_ACTIVITY_KIND_KERNEL']!;
    const newer = changed(EXPORT, {
      CUPTI_ACTIVITY_KIND_KERNEL: {
        columns: { cluster: 'INTEGER', ...without(kernels, 'launchType').columns, registersPerThread: 'TEXT' },
        rows: without(kernels, 'launchType').rows.map((row) => ({ ...row, cluster: 2, registersPerThread: 'many' })),
      },
      ENUM_GPU_CTX_SWITCH: {
        columns: { ID: 'REAL', name: 'TEXT', source_id: 'INTEGER' },
        rows: [{ ID: 0.5, name: 'x', source_id: 99 }],
      },
      ONLY_HERE: { columns: { 'a "b"': 'TEXT', nothing: '' }, rows: [{ 'a "b"': 'c', nothing: 7 }] },
    });
    put(at('a.sqlite'), SQLITE);
    put(at('b.sqlite'), sqliteBytes(newer));
    const result = await run(['a.sqlite', 'b.sqlite'], { allTables: true, run: 'both' });
    expect(statuses(result)).toEqual({ 'a.sqlite': 'ingested', 'b.sqlite': 'ingested' });
    expect(
      await store.select(
        'SELECT source_id, launchType, cluster, registersPerThread AS r, count(*) AS n FROM nsys_raw.CUPTI_ACTIVITY_KIND_KERNEL GROUP BY ALL ORDER BY 1',
      ),
    ).toMatchObject([
      { source_id: 1, launchType: 1, cluster: null, r: '64', n: 2 },
      { source_id: 2, launchType: null, cluster: 2, r: 'many', n: 2 },
    ]);
    expect(await store.select('SELECT source_id, id FROM nsys_raw.ENUM_GPU_CTX_SWITCH ORDER BY ALL')).toEqual([
      { source_id: 1, id: -1 },
      { source_id: 1, id: 0 },
      { source_id: 2, id: 0.5 },
    ]);
    expect(await raw('ONLY_HERE')).toEqual([{ 'a "b"': 'c', nothing: '7' }]);
  });

  it('goes with its source when the file changes, and all of it when that is no export any more', async () => {
    put(at('run/a.sqlite'), SQLITE);
    put(at('run/b.sqlite'), sqliteBytes(smallExport({ salt: 1 })));
    await run(['run'], { allTables: true });
    const table = 'nsys_raw.CUPTI_ACTIVITY_KIND_KERNEL';
    expect(await count(table)).toBe(4);
    const fewer = changed(smallExport({ salt: 2 }), {
      CUPTI_ACTIVITY_KIND_KERNEL: {
        columns: { ...EXPORT['CUPTI_ACTIVITY_KIND_KERNEL']!.columns, late: 'TEXT', gridX: 'REAL' },
        rows: EXPORT['CUPTI_ACTIVITY_KIND_KERNEL']!.rows.slice(1).map((row) => ({ ...row, late: 'yes' })),
      },
    });
    put(at('run/a.sqlite'), sqliteBytes(fewer));
    expect(statuses(await run(['run'], { allTables: true }))).toEqual({
      'a.sqlite': 'ingested',
      'b.sqlite': 'unchanged',
    });
    expect(await store.select(`SELECT late, count(*)::INTEGER AS n FROM ${table} GROUP BY ALL ORDER BY ALL`)).toEqual([
      { late: 'yes', n: 1 },
      { late: null, n: 2 },
    ]);
    put(at('run/a.sqlite'), 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n');
    expect(statuses(await run(['run'], { allTables: true }))).toEqual({
      'a.sqlite': 'MBF2001',
      'b.sqlite': 'unchanged',
    });
    expect(await count(table)).toBe(2);
    expect(await count(table, 'source_id NOT IN (SELECT source_id FROM nsys_report)')).toBe(0);
  });
});

describe('a second ingest', () => {
  storeForEach();
  it('leaves an unchanged database and an unchanged folder as they are', async () => {
    put(at('run/a.sqlite'), SQLITE);
    await writeParquetFolder(at('run/a_pqtdir'), EXPORT);
    const first = await run(['run']);
    expect(statuses(first)).toEqual({ 'a.sqlite': 'ingested', a_pqtdir: 'ingested' });
    expect(statuses(await run(['run']))).toEqual({ 'a.sqlite': 'unchanged', a_pqtdir: 'unchanged' });
    expect(await count('nsys_memory')).toBe(12);
    expect(await count('source', "sha256 IS NOT NULL AND format = 'nsys'")).toBe(2);
  });

  it('replaces a folder of which one file changed, came or went', async () => {
    await writeParquetFolder(at('run/a_pqtdir'), EXPORT);
    await run(['run']);
    const path = at('run/a_pqtdir/CUPTI_ACTIVITY_KIND_KERNEL.parquet');
    const one = EXPORT['CUPTI_ACTIVITY_KIND_KERNEL']!;
    await writeParquetFolder(at('fewer'), { CUPTI_ACTIVITY_KIND_KERNEL: { ...one, rows: one.rows.slice(1) } });
    renameSync(at('fewer/CUPTI_ACTIVITY_KIND_KERNEL.parquet'), path);
    expect(statuses(await run(['run']))).toEqual({ a_pqtdir: 'ingested' });
    expect(await count('nsys_kernel')).toBe(1);
    rmSync(path);
    expect(statuses(await run(['run']))).toEqual({ a_pqtdir: 'ingested' });
    expect([await count('nsys_kernel'), await count('nsys_memory')]).toEqual([0, 6]);
    expect(await count('source')).toBe(1);
  });

  it('replaces a changed database and only that', async () => {
    put(at('run/a.sqlite'), SQLITE);
    put(at('run/b.sqlite'), sqliteBytes(smallExport({ salt: 1, host: 'other-host' })));
    await run(['run']);
    put(at('run/a.sqlite'), sqliteBytes(smallExport({ salt: 2, environment: ['RANK=5'] })));
    const result = await run(['run']);
    expect(result.sources.map(({ status, rank }) => [status, rank])).toEqual([
      ['ingested', 5],
      ['unchanged', 3],
    ]);
    expect(
      await store.select('SELECT rank, host FROM nsys_report JOIN source USING (source_id) ORDER BY rank'),
    ).toEqual([
      { rank: 3, host: 'other-host' },
      { rank: 5, host: 'small-node-07' },
    ]);
    expect(await count('nsys_memory')).toBe(12);
    expect(await count('nsys_text', 'source_id NOT IN (SELECT source_id FROM source)')).toBe(0);
  });
});

describe('what lies in one directory', () => {
  storeForEach();
  it('two exports and a log: three sources of one run', async () => {
    put(at('run/rank0.sqlite'), sqliteBytes(smallExport({ environment: ['RANK=0', 'WORLD_SIZE=2'] })));
    put(at('run/rank1.sqlite'), sqliteBytes(smallExport({ environment: ['RANK=1', 'WORLD_SIZE=2'], salt: 1 })));
    put(at('run/train.log'), ' iteration        1/      10 | lm loss: 1.000000E+01 |\n');
    const { runs, sources } = await run(['run']);
    expect(runs).toHaveLength(1);
    expect(sources.map(({ path, format, rank }) => [path, format, rank])).toEqual([
      ['rank0.sqlite', 'nsys', 0],
      ['rank1.sqlite', 'nsys', 1],
      ['train.log', 'log', null],
    ]);
  });

  it('the tables of a folder and files beside them', async () => {
    await writeParquetFolder(at('run'), EXPORT);
    put(at('run/train.log'), ' iteration        1/      10 | lm loss: 1.000000E+01 |\n');
    put(at('run/deep/b.sqlite'), SQLITE);
    expect(statuses(await run(['run']))).toEqual({
      run: 'ingested',
      'deep/b.sqlite': 'ingested',
      'train.log': 'ingested',
    });
  });

  it('a Parquet file that is named alone, and data sets: no export', async () => {
    await writeParquetFolder(at('run/data'), { part_0: { columns: { a: 'INTEGER' }, rows: [{ a: 1 }] } });
    put(at('run/train.log'), ' iteration        1/      10 | lm loss: 1.000000E+01 |\n');
    expect(statuses(await run(['run']))).toEqual({ 'data/part_0.parquet': 'skipped', 'train.log': 'ingested' });
    expect((await take('run/data/part_0.parquet')).error?.text).toContain('name its folder');
  });

  it('a folder without META_DATA_EXPORT, which its other tables give away', async () => {
    const rest = changed(EXPORT, { META_DATA_EXPORT: null });
    await writeParquetFolder(at('copied'), rest);
    expect(await take('copied')).toMatchObject({ status: 'ingested', format: 'nsys' });
    expect(await report('copied')).toMatchObject({ schema_version: null, clock_offset_ns: UTC_NS });
    expect(await count('nsys_kernel')).toBe(2);
  });
});

describe('the clock', () => {
  storeForAll();
  /** Whatever says how the export was made differs. */
  const times = async (path: string): Promise<Stored> =>
    Object.fromEntries(
      Object.entries(await rowsOf(path)).filter(([name]) => !['nsys_option', 'nsys_report'].includes(name)),
    );
  let expected: Stored;
  beforeAll(async () => {
    put(at('plain.sqlite'), SQLITE);
    await take('plain.sqlite');
    expected = await times('plain.sqlite');
  });

  it.each([
    ['normalised', { isNormalized: true }],
    ['shifted', { shiftNs: 12_345_678_901n }],
    ['shifted back', { shiftNs: -12_345_678_901n }],
    ['normalised and shifted', { isNormalized: true, shiftNs: 5_000_000_000n }],
  ])('of an export that was %s is the plain one again', async (what, options) => {
    const name = `${what}.sqlite`;
    put(at(name), sqliteBytes(smallExport(options)));
    await take(name);
    expect(await times(name)).toEqual(expected);
    expect(await report(name)).toMatchObject({ clock_offset_ns: UTC_NS, duration_ns: 2_000_000_000 });
  });

  it('is that of the folder, too', async () => {
    await writeParquetFolder(at('a_pqtdir'), smallExport({ isNormalized: true }));
    await take('a_pqtdir');
    expect(await times('a_pqtdir')).toEqual(expected);
  });

  it('is unknown where nothing tells it, and UTC where times are UTC', async () => {
    const none = { TARGET_INFO_SESSION_START_TIME: null };
    put(at('a.sqlite'), sqliteBytes(changed(EXPORT, none)));
    put(at('b.sqlite'), sqliteBytes(changed(smallExport({ isNormalized: true }), none)));
    await take('a.sqlite');
    await take('b.sqlite');
    expect(await report('a.sqlite')).toMatchObject({ clock_offset_ns: null, clock_origin: null });
    expect(await report('b.sqlite')).toMatchObject({ clock_offset_ns: 0 });
    expect(await store.select('SELECT max(start_ns) AS start_ns FROM nsys_kernel')).toEqual([
      { start_ns: UTC_NS + 18_600n },
    ]);
  });
});

describe('exports of which parts are missing', () => {
  storeForEach();
  it('without StringIds: rows without names', async () => {
    const partial = changed(EXPORT, { StringIds: null, CUPTI_ACTIVITY_KIND_RUNTIME: null });
    const rows = partial['META_DATA_EXPORT']!.rows.map((row) =>
      row['name'] === 'EXPORT_PARAM_TABLES_TO_EXPORT' ? { ...row, value: 'CUPTI_ACTIVITY_KIND_KERNEL' } : row,
    );
    const tables = changed(partial, { META_DATA_EXPORT: { rows } });
    put(at('a.sqlite'), sqliteBytes(tables));
    await writeParquetFolder(at('a_pqtdir'), tables);
    for (const name of ['a.sqlite', 'a_pqtdir']) {
      expect(await take(name, { allTables: true })).toMatchObject({ status: 'ingested', notes: [] });
      expect(await report(name)).toMatchObject({ is_partial: true });
      const found = await rowsOf(name);
      expect(found['nsys_kernel']).toHaveLength(2);
      expect(found['nsys_kernel']![0]).toContain('"name_id":null');
      expect(found['nsys_nvtx']!.some((line) => line.includes('größer'))).toBe(true);
    }
  });

  it('of schema 2.9, whose options stand in EXPORT_META_DATA', async () => {
    const old = changed(EXPORT, {
      EXPORT_META_DATA: EXPORT['META_DATA_EXPORT']!,
      META_DATA_EXPORT: null,
      META_DATA_CAPTURE: null,
    });
    put(at('a.sqlite'), sqliteBytes(old));
    await writeParquetFolder(at('a_pqtdir'), old);
    for (const name of ['a.sqlite', 'a_pqtdir']) {
      expect(await take(name)).toMatchObject({ status: 'ingested', rank: null });
      expect(await report(name)).toMatchObject({
        schema_version: '3.24.14',
        graph_trace: null,
        memory_events_collected: true,
      });
    }
    const texts = await allTexts(store);
    for (const secret of SECRETS) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
  });

  it.each([
    ['true', true],
    ['false', false],
  ])('without memory events, whose option is %s', async (value, collected) => {
    const rows = EXPORT['META_DATA_CAPTURE']!.rows.map((row) =>
      row['name'] === 'COLLECT_GPU_MEMORY_USAGE' ? { ...row, value } : row,
    );
    put(
      at('a.sqlite'),
      sqliteBytes(changed(EXPORT, { CUDA_GPU_MEMORY_USAGE_EVENTS: null, META_DATA_CAPTURE: { rows } })),
    );
    await take('a.sqlite');
    expect(await report()).toMatchObject({ memory_events_collected: collected });
  });

  it('with columns that came later left out', async () => {
    const memory = EXPORT['CUDA_GPU_MEMORY_USAGE_EVENTS']!;
    const late = [
      'streamId',
      'memKind',
      'contextId',
      ...Object.keys(memory.columns).filter((name) => /Pool/.test(name)),
    ];
    const table = late.reduce(without, memory);
    put(at('a.sqlite'), sqliteBytes(changed(EXPORT, { CUDA_GPU_MEMORY_USAGE_EVENTS: table })));
    expect(await take('a.sqlite')).toMatchObject({ status: 'ingested', notes: [] });
    expect(await store.select('SELECT DISTINCT kind, stream, context, pool_bytes FROM nsys_memory')).toEqual([
      { kind: 'device', stream: null, context: null, pool_bytes: null },
    ]);
  });

  it('with two processes that used the GPU: no rank is told, whatever the environment says', async () => {
    const kernels = EXPORT['CUPTI_ACTIVITY_KIND_KERNEL']!;
    const rows = [...kernels.rows, ...kernels.rows.map((row) => ({ ...row, globalPid: globalPid(4102) }))];
    put(at('a.sqlite'), sqliteBytes(changed(EXPORT, { CUPTI_ACTIVITY_KIND_KERNEL: { rows } })));
    expect(await take('a.sqlite')).toMatchObject({ rank: null });
    expect(await store.select('SELECT pid, rank FROM nsys_process ORDER BY pid')).toEqual([
      { pid: PID, rank: null },
      { pid: 4102, rank: null },
    ]);
  });

  it('with a launcher that only called the driver: the rank is that of the one process on the GPU', async () => {
    const calls = EXPORT['CUPTI_ACTIVITY_KIND_RUNTIME']!;
    const rows = [...calls.rows, { ...calls.rows[0]!, globalTid: globalTid(77, 77) }];
    put(at('a.sqlite'), sqliteBytes(changed(EXPORT, { CUPTI_ACTIVITY_KIND_RUNTIME: { rows } })));
    expect(await take('a.sqlite')).toMatchObject({ rank: 3 });
    expect(await store.select('SELECT pid, name, rank FROM nsys_process ORDER BY pid')).toEqual([
      { pid: 77, name: 'someone-else', rank: null },
      { pid: PID, name: 'python3', rank: 3 },
    ]);
  });
});

describe('a long capture', () => {
  storeForEach();
  it('many rows: their order in a folder of Parquet files is that of the database', async () => {
    const kernels = EXPORT['CUPTI_ACTIVITY_KIND_KERNEL']!;
    const nvtx = EXPORT['NVTX_EVENTS']!;
    const many = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));
    const tables = changed(EXPORT, {
      CUPTI_ACTIVITY_KIND_KERNEL: {
        rows: many(9_000, (i) => ({ ...kernels.rows[0]!, start: 10 * i, end: 10 * i + 5 })),
      },
      NVTX_EVENTS: { rows: many(7_000, (i) => ({ ...nvtx.rows[1]!, start: 7 * i, text: `aten::mm, op_id = ${i}` })) },
    });
    put(at('a.sqlite'), sqliteBytes(tables));
    await writeParquetFolder(at('run/a_pqtdir'), tables);
    for (const name of ['a.sqlite', 'run/a_pqtdir']) await take(name);
    const [same] = await store.select(
      'SELECT count(*)::INTEGER AS n FROM nsys_range AS a JOIN nsys_range AS b ON a.seq = b.seq AND a.start_ns = b.start_ns AND a.text = b.text WHERE a.source_id < b.source_id AND a.start_ns = a.seq * 7',
    );
    expect(same).toEqual({ n: 7_000 });
    expect(
      await store.select(
        'SELECT count(*)::INTEGER AS n, sum(start_ns)::BIGINT AS s FROM nsys_kernel GROUP BY source_id',
      ),
    ).toEqual(many(2, () => ({ n: 9_000, s: 10 * 4_500 * 8_999 })));
  });
});

const program = sqlite3Program();
describe('a planted capture', () => {
  if (program === undefined) {
    skipLoudly('a planted capture', 'the sqlite3 program');
    return;
  }
  storeForEach();
  const scenario = plantedScenario(7);

  it.each(NSYS_SCHEMAS)(
    'of schema %s is kept row by row, with every table, and without its secrets',
    async (schema) => {
      const { rows } = writeNsysExport(at('a.sqlite'), scenario, schema);
      expect(await take('a.sqlite', { allTables: true })).toMatchObject({ status: 'ingested', rank: null });
      const counted = await store.select('SELECT name, row_count FROM nsys_table');
      expect(Object.fromEntries(counted.map((row) => [row['name'], Number(row['row_count'])]))).toEqual(rows);
      for (const [table, column, own] of [
        ['CUDA_GPU_MEMORY_USAGE_EVENTS', 'start', 'nsys_memory'],
        ['CUPTI_ACTIVITY_KIND_KERNEL', 'start', 'nsys_kernel'],
        ['NVTX_EVENTS', 'start', 'nsys_nvtx'],
      ] as const) {
        const [sums] = await store.select(
          `SELECT (SELECT sum(start_ns) FROM ${own})::VARCHAR AS own, (SELECT sum(${column}) FROM nsys_raw.${table})::VARCHAR AS raw`,
        );
        expect([table, sums!['own']]).toEqual([table, sums!['raw']]);
      }
      const texts = await allTexts(store);
      for (const secret of scenario.secrets) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    },
  );

  it('with rows in a write-ahead log: MBF2702, and nothing is kept', async () => {
    writeNsysExport(at('a.sqlite'), scenario, '3.28', { leavesWal: true });
    const { status, error } = await take('a.sqlite');
    expect([status, error?.code]).toEqual(['failed', 'MBF2702']);
    expect(await count('nsys_table')).toBe(0);
  });
});

/** One export in every form in which it may come gives the same rows; whole ingests into real stores. */
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { skipLoudly } from '../support/corpus.js';
import { plantedScenario } from '../support/nsys/scenario.js';
import { nsysStore } from '../support/nsys/store.js';
import { NSYS_SCHEMAS, sqlite3Program, writeNsysExport } from '../support/nsys/write-export.js';
import {
  changed,
  globalPid,
  globalTid,
  HOME,
  type JsonSpelling,
  jsonLines,
  PID,
  SECRETS,
  type Stored,
  smallExport,
  sqliteBytes,
  storedZstd,
  UTC_NS,
  without,
  writeParquetFolder,
} from '../support/nsys-export.js';

const { storeForEach, storeForAll, at, put, select, run, take, takeTables, report, rowsOf, count, expectNone } =
  nsysStore();

/** Rows as text; `-` is NULL. */
const rowLines = async (sql: string): Promise<string[]> =>
  (await select(sql)).map((row) =>
    Object.values(row)
      .map((value) => value ?? '-')
      .join(' '),
  );

const EXPORT = smallExport();
const SQLITE = sqliteBytes(EXPORT);

describe('the rows of a SQLite export', () => {
  storeForAll();
  beforeAll(async () => {
    const source = await takeTables('a.sqlite', EXPORT);
    expect(source).toMatchObject({ status: 'ingested', format: 'nsys', rank: 3, notes: [] });
  });

  it('are as many as in the file, table by table', async () => {
    const counted = await select('SELECT name, row_count FROM nsys_table ORDER BY name');
    const expected = Object.entries(EXPORT).map(([name, { rows }]) => ({ name, row_count: rows.length }));
    expect(counted.map((row) => ({ ...row, row_count: Number(row['row_count']) }))).toEqual(
      expected.sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
  });

  it.each<readonly [columns: string, source: string, rows: readonly string[]]>([
    [
      'start_ns, pid, device, context, stream, operation, address, bytes, pc',
      'nsys_memory WHERE seq = 1',
      [`2000 ${PID} 0 1 7 allocation ${0x7f00_0020_0000} ${20 * 2 ** 20} ${0x7ec0_1000_2110}`],
    ],
    [
      'kind, pool_address, pool_bytes, pool_used_bytes',
      'nsys_memory WHERE seq IN (1, 4) ORDER BY seq',
      ['device - - -', `device ${0x303_0000_0000} ${2 ** 25} 512`],
    ],
    [
      'api, return_value, event_class, pid, tid',
      'nsys_call ORDER BY start_ns',
      [...['cudaMalloc 0 0', 'cudaMalloc 0 0', 'cudaLaunchKernel 0 0', 'cuLaunchKernelEx 0 1', 'cudaMalloc 2 0']].map(
        (call) => `${call} ${PID} ${PID}`,
      ),
    ],
    [
      'text, domain_name, start_ns, end_ns, tid, end_tid',
      'nsys_range ORDER BY start_ns',
      [
        `step 1 – größer - -2000 50000 ${PID} -`,
        `ncclAllReduce NCCL 500 9000 ${PID} -`,
        `over threads - 700 800 ${PID} ${PID + 1}`,
        `never ended - 40000 - ${PID} -`,
      ],
    ],
    [
      'origin, fate, bytes',
      'nsys_allocation ORDER BY address, alloc_ns',
      [`open 512`, `open ${2 ** 16}`, 'open 4096', `freed ${2 ** 21}`, `open ${20 * 2 ** 20}`].map(
        (row) => `traced ${row}`,
      ),
    ],
    ['blocks, threads, registers, stream', 'nsys_kernel ORDER BY start_ns', ['528 128 64 7', '528 128 64 13']],
    // 2^32 − 1 is "none".
    ['stream, sync_type', 'nsys_sync ORDER BY start_ns', ['7 3', '- 4']],
    ['* EXCLUDE (source_id)', 'nsys_gpu', ['5 NVIDIA H100 85000000000 0000:1b:00.0 GPU-5']],
    ['pid, device, gpu', 'nsys_device', [`${PID} 0 5`]],
    ['time_ns, severity, text', 'nsys_diagnostic', ['1000 warning Loaded …/lib.so.12, and not all events.']],
    ['name', 'nsys_thread', ['pt_main_thread']],
    ['pid, name, rank', 'nsys_process', [`${PID} python3 3`]],
    // The rank and the host that the environment gives.
    ['key, value, rank, host', 'env_value ORDER BY key', ['RANK 3 3 small-node-07', 'WORLD_SIZE 8 3 small-node-07']],
    ['rank', "source WHERE rank_origin LIKE '%RANK%'", ['3']],
  ])('have what the file has: %s of %s', async (columns, source, rows) => {
    expect(await rowLines(`SELECT ${columns} FROM ${source}`)).toEqual(rows);
  });

  it('are described by the report', async () => {
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

  it('keep nothing that is private', async () => {
    await expectNone([...SECRETS, HOME, 'small-user', 'someone-else', 'not of the job']);
  });
});

describe('the same export in other forms', () => {
  let expected: Stored;
  storeForAll();
  beforeAll(async () => {
    await takeTables('a.sqlite', EXPORT);
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
    put(name, bytes);
    const { status, rank, notes } = await take(name);
    expect([status, rank, notes.map(({ kind }) => kind)]).toEqual(['ingested', 3, kinds]);
    expect(await rowsOf(name)).toEqual(expected);
  });

  it.each([
    ['64-bit integers/run_pqtdir', {}],
    ['32-bit integers and unsigned ids/run_pqtdir', { integers: 'INTEGER' }],
    ['dictionaries/run_pqtdir', { dictionaries: true }],
    ["a directory with an odd name, odd [1] * 'x' ?/a_pqtdir", {}],
  ] as const)('a folder of Parquet files: %s', async (name, spelling) => {
    await writeParquetFolder(at(name), EXPORT, spelling);
    expect(await take(name)).toMatchObject({ status: 'ingested', format: 'nsys', rank: 3, notes: [] });
    expect(await rowsOf(name)).toEqual(expected);
    expect((await report(name))['form']).toBe('parquetdir');
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
      put(name, name.endsWith('.gz') ? gzipSync(lines) : name.endsWith('.zst') ? storedZstd(lines) : lines);
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
      await expectNone(SECRETS);
    });
  });

  it('JSON lines of which some are of no known spelling', async () => {
    const odd = '{"Type":117,"Odd":{"what":1}}\n{"Type":117,"Odd":{"address":"5"}}\n{"Type":129,"Odd":{}}\n';
    put('run.jsonl', jsonLines(EXPORT) + odd);
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
  const ARROWS = ['run_arwdir/StringIds.arrow', 'run_arwdir/META_DATA_EXPORT.arrow'];
  const HDF5 = Buffer.from('\x89HDF\r\n\x1a\n CUPTI_ACTIVITY_KIND_KERNEL', 'latin1');

  it.each([
    ['run.nsys-rep', ['run.nsys-rep'], 'closed', 'nsys export --type sqlite run.nsys-rep'],
    ['run.qdrep', ['run.qdrep'], 'closed', 'nsys export --type sqlite run.qdrep'],
    ['run.arrows', ['run.arrows'], 'ARROW1', 'nsys export --type sqlite run.nsys-rep'],
    ['run.h5', ['run.h5'], HDF5, 'nsys export --type sqlite run.nsys-rep'],
    ['run_arwdir', ARROWS, 'ARROW1', 'nsys export --type parquetdir run.nsys-rep'],
  ] as const)('%s named: MBF2003 with the command', async (name, files, content, command) => {
    for (const file of files) put(file, content);
    const { status, error } = await take(name);
    expect([status, error?.code]).toEqual(['failed', 'MBF2003']);
    expect(error?.text).toContain(command);
  });

  it('met on a walk: skipped, and what lies beside them is read', async () => {
    put('run/run.nsys-rep', 'closed');
    put('run/run.arrows', 'ARROW1');
    put('run/run.h5', HDF5);
    put('run/run_arwdir/META_DATA_EXPORT.arrow', 'ARROW1');
    put('run/run_arwdir/KERNEL.arrow', 'ARROW1');
    put('run/other.sqlite', sqliteBytes({ users: { columns: { id: 'INTEGER' }, rows: [] } }));
    put('run/answers.json', '{"data": ["yes", "no"]}\n');
    put('run/run.sqlite', SQLITE);
    const { sources } = await run(['run']);
    expect(sources.map(({ path, status, error }) => `${path} ${status} ${error?.code ?? '-'}`).sort()).toEqual([
      'answers.json skipped MBF2704',
      // Named as an export is: somebody takes it for one.
      'other.sqlite failed MBF2703',
      'run.arrows skipped MBF2003',
      'run.h5 skipped -',
      'run.nsys-rep skipped MBF2003',
      'run.sqlite ingested -',
      'run_arwdir skipped -',
    ]);
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
    await takeTables('plain.sqlite', EXPORT);
    expected = await times('plain.sqlite');
  });

  it.each([
    ['normalised.sqlite', { isNormalized: true }],
    ['shifted.sqlite', { shiftNs: 12_345_678_901n }],
    ['shifted back.sqlite', { shiftNs: -12_345_678_901n }],
    ['normalised and shifted.sqlite', { isNormalized: true, shiftNs: 5_000_000_000n }],
    ['normalised_pqtdir', { isNormalized: true }],
  ])('of %s is the plain one again', async (name, options) => {
    await takeTables(name, smallExport(options));
    expect(await times(name)).toEqual(expected);
    expect(await report(name)).toMatchObject({ clock_offset_ns: UTC_NS, duration_ns: 2_000_000_000 });
  });

  it('is unknown where nothing tells it, and UTC where times are UTC', async () => {
    const none = { TARGET_INFO_SESSION_START_TIME: null };
    await takeTables('a.sqlite', changed(EXPORT, none));
    await takeTables('b.sqlite', changed(smallExport({ isNormalized: true }), none));
    expect(await report('a.sqlite')).toMatchObject({ clock_offset_ns: null, clock_origin: null });
    expect(await report('b.sqlite')).toMatchObject({ clock_offset_ns: 0 });
    expect(await select('SELECT max(start_ns) AS start_ns FROM nsys_kernel')).toEqual([{ start_ns: UTC_NS + 18_600n }]);
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
    for (const name of ['a.sqlite', 'a_pqtdir']) {
      const source = await takeTables(name, tables, { allTables: true });
      // Named are only the tables that are left out of the copy.
      expect(source.status).toBe('ingested');
      expect(source.notes.every(({ kind }) => kind === 'nsys_tables_not_kept')).toBe(true);
      expect(await report(name)).toMatchObject({ is_partial: true });
      const found = await rowsOf(name);
      expect(found['nsys_kernel']).toHaveLength(2);
      expect(found['nsys_kernel']![0]).toContain('"name_id":null');
      expect(found['nsys_nvtx']!.some((line) => line.includes('größer'))).toBe(true);
    }
  });

  it('of schema 2.9, whose options stand in EXPORT_META_DATA', async () => {
    const options = EXPORT['META_DATA_EXPORT']!;
    const old = changed(EXPORT, { EXPORT_META_DATA: options, META_DATA_EXPORT: null, META_DATA_CAPTURE: null });
    const known = { schema_version: '3.24.14', graph_trace: null, memory_events_collected: true };
    for (const name of ['a.sqlite', 'a_pqtdir']) {
      expect(await takeTables(name, old)).toMatchObject({ status: 'ingested', rank: null });
      expect(await report(name)).toMatchObject(known);
    }
    await expectNone(SECRETS);
  });

  it.each([
    ['true', true],
    ['false', false],
  ])('without memory events, whose option is %s', async (value, collected) => {
    const rows = EXPORT['META_DATA_CAPTURE']!.rows.map((row) =>
      row['name'] === 'COLLECT_GPU_MEMORY_USAGE' ? { ...row, value } : row,
    );
    const tables = changed(EXPORT, { CUDA_GPU_MEMORY_USAGE_EVENTS: null, META_DATA_CAPTURE: { rows } });
    await takeTables('a.sqlite', tables);
    expect(await report()).toMatchObject({ memory_events_collected: collected });
  });

  it('with columns that came later left out', async () => {
    const memory = EXPORT['CUDA_GPU_MEMORY_USAGE_EVENTS']!;
    const late = Object.keys(memory.columns).filter((name) => /^(?:streamId|memKind|contextId)$|Pool/.test(name));
    const table = late.reduce(without, memory);
    const source = await takeTables('a.sqlite', changed(EXPORT, { CUDA_GPU_MEMORY_USAGE_EVENTS: table }));
    expect(source).toMatchObject({ status: 'ingested', notes: [] });
    const rows = await rowLines('SELECT DISTINCT kind, stream, context, pool_bytes FROM nsys_memory');
    expect(rows).toEqual(['device - - -']);
  });

  it('with two processes that used the GPU: no rank is told, whatever the environment says', async () => {
    const kernels = EXPORT['CUPTI_ACTIVITY_KIND_KERNEL']!;
    const rows = [...kernels.rows, ...kernels.rows.map((row) => ({ ...row, globalPid: globalPid(4102) }))];
    const source = await takeTables('a.sqlite', changed(EXPORT, { CUPTI_ACTIVITY_KIND_KERNEL: { rows } }));
    expect(source).toMatchObject({ rank: null });
    expect(await rowLines('SELECT pid, rank FROM nsys_process ORDER BY pid')).toEqual([`${PID} -`, '4102 -']);
  });

  it('with a launcher that only called the driver: the rank is that of the one process on the GPU', async () => {
    const calls = EXPORT['CUPTI_ACTIVITY_KIND_RUNTIME']!;
    const rows = [...calls.rows, { ...calls.rows[0]!, globalTid: globalTid(77, 77) }];
    const source = await takeTables('a.sqlite', changed(EXPORT, { CUPTI_ACTIVITY_KIND_RUNTIME: { rows } }));
    expect(source).toMatchObject({ rank: 3 });
    const processes = await rowLines('SELECT pid, name, rank FROM nsys_process ORDER BY pid');
    expect(processes).toEqual(['77 someone-else -', `${PID} python3 3`]);
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
    for (const name of ['a.sqlite', 'run/a_pqtdir']) await takeTables(name, tables);
    const [same] = await select(
      'SELECT count(*)::INTEGER AS n FROM nsys_range AS a JOIN nsys_range AS b ON a.seq = b.seq AND a.start_ns = b.start_ns AND a.text = b.text WHERE a.source_id < b.source_id AND a.start_ns = a.seq * 7',
    );
    expect(same).toEqual({ n: 7_000 });
    expect(
      await select('SELECT count(*)::INTEGER AS n, sum(start_ns)::BIGINT AS s FROM nsys_kernel GROUP BY source_id'),
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
      const counted = await select('SELECT name, row_count FROM nsys_table');
      expect(Object.fromEntries(counted.map((row) => [row['name'], Number(row['row_count'])]))).toEqual(rows);
      for (const [table, column, own] of [
        ['CUDA_GPU_MEMORY_USAGE_EVENTS', 'start', 'nsys_memory'],
        ['CUPTI_ACTIVITY_KIND_KERNEL', 'start', 'nsys_kernel'],
        ['NVTX_EVENTS', 'start', 'nsys_nvtx'],
      ] as const) {
        const [sums] = await select(
          `SELECT (SELECT sum(start_ns) FROM ${own})::VARCHAR AS own, (SELECT sum(${column}) FROM nsys_raw.${table})::VARCHAR AS raw`,
        );
        expect([table, sums!['own']]).toEqual([table, sums!['raw']]);
      }
      await expectNone(scenario.secrets);
    },
  );

  it('with rows in a write-ahead log: MBF2702, and nothing is kept', async () => {
    writeNsysExport(at('a.sqlite'), scenario, '3.28', { leavesWal: true });
    const { status, error } = await take('a.sqlite');
    expect([status, error?.code]).toEqual(['failed', 'MBF2702']);
    expect(await count('nsys_table')).toBe(0);
  });
});

/**
 * Damaged, foreign and odd exports of Nsight Systems in all three forms: what is whole is kept and the rest is named,
 * or there is one clear error; a store never holds half a source.
 */
import { appendFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import sqlite from 'node-sqlite3-wasm';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import { MbfError } from '../../src/model/errors.js';
import type { ParserSpec } from '../../src/model/parser.js';
import type { IngestSource } from '../../src/model/results/common.js';
import { MIB } from '../../src/model/units.js';
import {
  added,
  damagedTables,
  expectFailed,
  expectIngested,
  expectPlainNotes,
  nsysBench,
} from '../support/nsys/bench.js';
import {
  type Cell,
  changed,
  jsonLines,
  type Row,
  smallExport,
  sqliteBytes,
  type Table,
  type Tables,
  without,
  writeParquetFolder,
} from '../support/nsys-export.js';
import {
  changedBytes,
  cliBelow,
  dataCounts,
  expectClearError,
  expectCliError,
  seeded,
  temporaryDirectory,
} from './harness.js';

const SMALL = smallExport();
const many = (table: string, n: number, vary: (i: number) => Row): { rows: Row[] } => {
  const { rows } = SMALL[table]!;
  return { rows: Array.from({ length: n }, (_, i) => ({ ...rows[i % rows.length]!, ...vary(i) })) };
};
/** Enough rows for trees of several levels in pages of 512 bytes. */
const EXPORT = changed(SMALL, {
  CUPTI_ACTIVITY_KIND_KERNEL: many('CUPTI_ACTIVITY_KIND_KERNEL', 400, (i) => ({ start: i * 10, end: i * 10 + 5 })),
  CUPTI_ACTIVITY_KIND_RUNTIME: many('CUPTI_ACTIVITY_KIND_RUNTIME', 400, (i) => ({ start: i * 10, end: i * 10 + 5 })),
  NVTX_EVENTS: many('NVTX_EVENTS', 200, (i) => ({ start: i * 7, text: `range ${i} ${'x'.repeat(i)}` })),
  CUDA_GPU_MEMORY_USAGE_EVENTS: many('CUDA_GPU_MEMORY_USAGE_EVENTS', 200, (i) => ({ start: i })),
});
const SQLITE = sqliteBytes(EXPORT, 512);
const KERNEL = 'CUPTI_ACTIVITY_KIND_KERNEL';

const { bench, latest, kept } = nsysBench(SQLITE);

/** Fewer rows only where a note says so, and never more. */
async function expectReported(source: IngestSource, tables: Tables): Promise<void> {
  const reported = damagedTables(source);
  expectPlainNotes(source);
  const rows = await kept(source);
  for (const [name, table] of Object.entries(tables)) {
    if (reported.includes('(list)') && !rows.has(name)) continue;
    expect([name, rows.get(name)! <= table.rows.length]).toEqual([name, true]);
    if (!reported.includes(name)) expect([name, rows.get(name)]).toEqual([name, table.rows.length]);
  }
}

it('text under the name of a database is no export', async () => {
  const { source } = await bench().take('x.sqlite', Buffer.from('not a database, but a line of text\n'.repeat(50)));
  expect(source.format === 'log' || source.error?.code === 'MBF2008' || source.error?.code === 'MBF2701').toBe(true);
});

describe('files beside a database', () => {
  const put = (name: string, suffix: string, bytes: number): string => {
    const folder = join(bench().directory, name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'x.sqlite'), SQLITE);
    writeFileSync(join(folder, `x.sqlite${suffix}`), Buffer.alloc(bytes, 1));
    return join(folder, 'x.sqlite');
  };

  it.each([
    ['-wal', 4152, /write-ahead log next to it .*sqlite3 FILE 'PRAGMA wal_checkpoint/],
    ['-journal', 4096, /rollback journal of 4096 bytes next to it/],
  ])('a %s of %i bytes: MBF2702, and how to merge it', async (suffix, bytes, fact) => {
    const { source } = await bench().takePath(put(`beside${suffix}`, suffix, bytes));
    expectFailed(source, 'MBF2702');
    expect(source.error?.text).toMatch(fact);
  });

  it.each([
    ['-wal', 0],
    ['-shm', 32_768],
    ['-journal', 512],
  ])('a %s of %i bytes says nothing', async (suffix, bytes) => {
    const { source } = await bench().takePath(put(`beside-nothing${suffix}`, suffix, bytes));
    expect(source).toMatchObject({ status: 'ingested', notes: [] });
  });
});

describe('a database that was cut off', () => {
  it('anywhere: what is whole is kept, and the rest is named', async () => {
    const places = [1, 50, 99, 100, 511, 512, 513, 1024, 2048, SQLITE.length - 512, SQLITE.length - 1];
    for (let i = 1; i < 23; i++) places.push(Math.round((SQLITE.length * i) / 23));
    const sources = await bench().takeAll(
      places.map((bytes) => SQLITE.subarray(0, bytes)),
      'x.sqlite',
    );
    expect(sources).toHaveLength(places.length);
    for (const [i, source] of sources.entries()) {
      const bytes = places[i]!;
      // One byte is a text, and not a log.
      if (source.status === 'skipped') expect(bytes).toBeLessThan(16);
      else if (source.status === 'ingested') {
        await expectReported(source, EXPORT);
        const cut = source.notes.find(({ kind }) => kind === 'nsys_file_cut');
        expect(cut?.text).toContain(`${Math.floor(bytes / 512)} of the ${SQLITE.length / 512} pages`);
        expect(damagedTables(source).length).toBeGreaterThan(0);
      } else {
        expect(source.error?.code, `${bytes} bytes: ${source.error?.text}`).toMatch(/^MBF270[13]$/);
        // Once the list of tables is there, something can be kept.
        expect(bytes).toBeLessThan(SQLITE.length / 2);
      }
    }
  });

  it('keeps the rows before the cut', async () => {
    const { source } = await bench().take('x.sqlite', SQLITE.subarray(0, Math.round(SQLITE.length * 0.7)));
    const rows = [...(await kept(source)).values()].reduce((a, b) => a + b, 0);
    expectIngested(source);
    expect(rows).toBeGreaterThan(200);
  });
});

describe('bytes that were changed', () => {
  it('at random: rows or one clear error', async () => {
    const files = Array.from({ length: 24 }, (_, i) => {
      const random = seeded(i + 1);
      // Every other one among the list of tables and the first pages of trees, where more hangs on a byte.
      return changedBytes(SQLITE, random, 1 + Math.floor(random() * 6), 0, i % 2 === 0 ? undefined : 12_288);
    });
    const sources = await bench().takeAll(files, 'x.sqlite');
    expect(sources).toHaveLength(files.length);
    for (const source of sources) {
      const { path, status, error } = source;
      if (status !== 'ingested') expect(error?.code, `${path} ${error?.text}`).toMatch(/^MBF(?:270[123]|2008)$/);
      expectPlainNotes(source);
    }
    expect(sources.filter(({ status }) => status === 'ingested').length).toBeGreaterThan(12);
  });

  it('a page of a table that became part of another: reported, and nothing doubled', async () => {
    const bytes = Buffer.from(SQLITE);
    for (let page = 60; page < 90; page++) SQLITE.copy(bytes, page * 512, 100 * 512, 101 * 512);
    const { source } = await bench().take('x.sqlite', bytes);
    expectIngested(source);
    await expectReported(source, EXPORT);
    expect(damagedTables(source).length).toBeGreaterThan(0);
  });
});

describe('tables that are not as they should be', () => {
  const take = (changes: Parameters<typeof changed>[1]) =>
    bench().take('x.sqlite', sqliteBytes(changed(SMALL, changes)));

  it('kernels without a name: the table is left out with a note, the rest is kept', async () => {
    const { source, ...counts } = await take({ [KERNEL]: without(SMALL[KERNEL]!, 'shortName') });
    expect(source.notes.map(({ kind, text }) => [kind, text])).toEqual([
      ['nsys_table_unknown', `the table ${KERNEL} has no column shortName, so it was not read`],
    ]);
    expect([added(counts, 'nsys_kernel'), added(counts, 'nsys_api'), added(counts, 'nsys_memory')]).toEqual([0, 5, 6]);
    expect((await kept(source)).get(KERNEL)).toBe(2);
  });

  it('strings without a number or a value: rows without names', async () => {
    for (const column of ['id', 'value']) {
      const { source, ...counts } = await take({ StringIds: without(SMALL['StringIds']!, column) });
      expectIngested(source);
      expect(added(counts, 'nsys_kernel')).toBe(2);
    }
  });

  /** Exports with another value in every cell of every table; `declared` is the type of each column. */
  const filled = (value: () => Cell, declared?: string): Buffer => {
    const tables = Object.entries(SMALL).map(([name, { columns, rows }]): [string, Table] => {
      const plain = (type: string): string => declared ?? type.replace(' PRIMARY KEY', '');
      const types = Object.entries(columns).map(([column, type]) => [column, plain(type)]);
      const row = (): Row => Object.fromEntries(types.map(([column]) => [column, value()]));
      return [name, { columns: Object.fromEntries(types), rows: rows.map(row) }];
    });
    return sqliteBytes(Object.fromEntries(tables));
  };

  const values: readonly Cell[] = [
    ...[null, '', 'what is this', 'a\0b', '17', 'x'.repeat(100_000), Buffer.from([0xff, 0xfe, 0])],
    ...[-1, 2 ** 31, 2 ** 32, 2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n, 1.5, 1e19, 1e300, Number.POSITIVE_INFINITY],
  ];

  it('with one and the same in every cell, whatever it is', async () => {
    const files = values.flatMap((value) => [filled(() => value), filled(() => value, 'BLOB')]);
    for (const source of await bench().takeAll(files, 'x.sqlite')) {
      expectIngested(source);
      for (const [name, rows] of await kept(source)) expect(rows).toBe(SMALL[name]!.rows.length);
    }
  });

  it('with anything at random in every cell', async () => {
    const random = seeded(11);
    const any = (): Cell => values[Math.floor(random() * values.length)]!;
    const files = Array.from({ length: 20 }, (_, i) => filled(any, i % 2 === 0 ? undefined : 'BLOB'));
    for (const source of await bench().takeAll(files, 'x.sqlite')) expectIngested(source);
  });

  it('clocks and numbers of devices beyond all measure', async () => {
    const huge = 2n ** 63n - 1n;
    const metadata = [
      ['SCHEMA_VERSION', 'x'.repeat(50_000)],
      ['PARAM_TIME_NORMALIZE', 'true'],
    ];
    const shift = ['PARAM_TIME_SHIFT', '9223372036854775808'];
    const tables: Readonly<Record<string, readonly Row[]>> = {
      TARGET_INFO_SESSION_START_TIME: [{ utcEpochNs: huge, utcTime: null, localTime: null }],
      ANALYSIS_DETAILS: [{ globalVid: 0, duration: -huge, startTime: 0, stopTime: 0 }],
      TARGET_INFO_GPU: [
        { id: huge, name: 'a' },
        { id: 2 ** 31, name: 'b' },
        { id: -1, name: 'c', totalMemory: -1 },
      ],
      TARGET_INFO_CUDA_DEVICE: [
        { gpuId: huge, cudaId: huge, pid: huge },
        { gpuId: 2 ** 40, cudaId: 0, pid: 1 },
      ],
      META_DATA_EXPORT: [...metadata, shift].map(([name, value]) => ({ name: `EXPORT_${name}`, value: value! })),
      META_DATA_CAPTURE: [{ name: 'PROCESS_0:ENVIRONMENT_VARIABLE', value: 'RANK=99999999999999999999' }],
      DIAGNOSTIC_EVENT: [{ timestamp: -huge, severity: 2, text: 'lost\0events \ud800' }],
    };
    const { source } = await take(Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, { rows }])));
    expectIngested(source);
  });

  it('sizes below zero and frees of nothing stay what they are', async () => {
    const memory = SMALL['CUDA_GPU_MEMORY_USAGE_EVENTS']!;
    const { source, ...counts } = await take({
      CUDA_GPU_MEMORY_USAGE_EVENTS: {
        rows: memory.rows.map((row) => ({ ...row, bytes: -5, memKind: 99, memoryOperationType: 7 })),
      },
    });
    expect([source.status, added(counts, 'nsys_memory')]).toEqual(['ingested', 6]);
    expect(await latest('DISTINCT bytes, kind, operation', 'nsys_memory')).toEqual([
      { bytes: -5, kind: 'unknown', operation: 'other' },
    ]);
  });

  it('grids of which a side is no number', async () => {
    const { rows } = SMALL[KERNEL]!;
    const { source } = await take({
      [KERNEL]: { rows: [rows[0]!, ...[null, 'x', -1, 2n ** 40n, 0.5].map((gridX): Row => ({ ...rows[0]!, gridX }))] },
    });
    expectIngested(source);
    const found = await latest('blocks', 'nsys_kernel');
    expect(found.map(({ blocks }) => blocks)).toEqual([528, 0, 0, 0, 0, 0]);
  });

  it('tables that SQLite stores otherwise: reported, and the rest is read', async () => {
    const folder = join(bench().directory, 'otherwise');
    mkdirSync(folder);
    const path = join(folder, 'x.sqlite');
    writeFileSync(path, sqliteBytes(changed(SMALL, { [KERNEL]: null, NVTX_EVENTS: null })));
    const database = new sqlite.Database(path);
    database.exec(`CREATE TABLE ${KERNEL} (start INTEGER PRIMARY KEY, "end" INTEGER, shortName INTEGER) WITHOUT ROWID`);
    database.exec(`INSERT INTO ${KERNEL} VALUES (1, 2, 3)`);
    database.exec('CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start, 59 AS eventType');
    database.exec('CREATE TABLE "odd ""name"" – ä" ("a b" INTEGER, [c] TEXT)');
    database.close();
    const { source, ...counts } = await bench().takePath(path);
    expectIngested(source);
    expect(source.notes.map(({ kind, text }) => [kind, text])).toEqual([
      [
        'nsys_table_damaged',
        expect.stringMatching(new RegExp(`^the table ${KERNEL} is damaged: a WITHOUT ROWID table`)),
      ],
    ]);
    expect([added(counts, 'nsys_kernel'), added(counts, 'nsys_api')]).toEqual([0, 5]);
  });
});

describe('one transaction a source', () => {
  /** Our parser, which fails once everything has been sent. */
  const failing = (error: () => Error): ParserSpec[] =>
    PARSERS.map((parser) =>
      parser.id !== 'nsys'
        ? parser
        : {
            ...parser,
            async parse(source, sink, context) {
              await parser.parse(source, sink, context);
              throw error();
            },
          },
    );

  it('nothing is kept of a file that failed at its end, in no table, whatever was asked for', async () => {
    const path = join(bench().directory, 'late.sqlite');
    writeFileSync(path, sqliteBytes(smallExport({ salt: 9 })));
    const options = { store: bench().store, paths: [path], now: new Date(0), run: 'late' } as const;
    const before = await dataCounts(bench().store);
    const late = failing(() => new MbfError('MBF2009', 'changed while it was read: by this test'));
    for (const allTables of [false, true]) {
      const { sources } = await ingest({ rowsOnly: true, ...options, parsers: late, allTables });
      expect(sources[0]).toMatchObject({ status: 'failed', error: { code: 'MBF2009' } });
      expectClearError(sources[0]!);
      expect(await dataCounts(bench().store)).toEqual(before);
      expect(await rawRows()).toBe(0);
    }
    // Whole, then a change that fails: the old rows are of a file that is no more.
    const good = await ingest({ rowsOnly: true, ...options, parsers: PARSERS, allTables: true });
    expect(good.sources[0]!.status).toBe('ingested');
    expect(await rawRows()).toBeGreaterThan(0);
    const whole = await dataCounts(bench().store);
    writeFileSync(path, sqliteBytes(smallExport({ salt: 10 })));
    // A bug of ours is no fault of the file: it ends the ingest, and nothing moved.
    const bug = failing(() => new TypeError('a bug'));
    await expect(ingest({ rowsOnly: true, ...options, parsers: bug, allTables: true })).rejects.toThrow('a bug');
    expect(await dataCounts(bench().store)).toEqual(whole);
    await ingest({ rowsOnly: true, ...options, parsers: late, allTables: true });
    expect(await rawRows()).toBe(0);
    expect(await dataCounts(bench().store)).toEqual(before);
  });

  async function rawRows(): Promise<number> {
    const tables = await bench().store.select(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'nsys_raw'",
    );
    let rows = 0;
    for (const { name } of tables) {
      const [row] = await bench().store.select(`SELECT count(*) AS n FROM nsys_raw."${String(name)}"`);
      rows += Number(row!['n']);
    }
    return rows;
  }
});

describe('on the command line', () => {
  const root = temporaryDirectory();
  const ask = cliBelow(root);

  it.each([
    ['an empty one', Buffer.alloc(0), 'MBF2004', 'is empty'],
    ['a cut header', SQLITE.subarray(0, 60), 'MBF2701', /the file ends after 60 of the 100 header bytes/],
  ])('%s: exit 4', (what, bytes, code, fact) => {
    const cwd = join(root, what);
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'x.sqlite'), bytes);
    const { status, stdout, stderr } = ask(cwd, 'ingest', 'x.sqlite', '-q');
    expect(status, stderr).toBe(4);
    expect(stdout + stderr).toContain(code);
    expectCliError(ask(cwd, 'diagnose', 'x.sqlite'), 4, code, fact);
  });

  it('a damaged one: exit 0, with what is left and a note', () => {
    writeFileSync(join(root, 'damaged.sqlite'), SQLITE.subarray(0, Math.round(SQLITE.length * 0.8)));
    const answer = ask(root, 'ingest', 'damaged.sqlite', '--json=full');
    expect(answer).toMatchObject({ status: 0, stderr: '' });
    expect(answer.stdout).toContain('nsys_table_damaged');
  });

  // From 128 MiB on decoding has a thread of its own.
  it('one of 140 MiB, whole and with every table', () => {
    const padding = { PADDING: { columns: { bytes: 'BLOB' }, rows: [{ bytes: Buffer.alloc(140 * MIB) }] } };
    writeFileSync(join(root, 'x.sqlite'), sqliteBytes(changed(EXPORT, padding)));
    for (const status of ['ingested', 'unchanged']) {
      const answer = ask(root, 'ingest', 'x.sqlite', '--nsys-all', '--db', 'a.duckdb', '--json=full');
      expect(answer).toMatchObject({ status: 0, stderr: '' });
      const { sources } = answer.json<{ sources: { notes: { kind: string }[] }[] }>();
      expect(sources).toMatchObject([{ status, rank: 3 }]);
      // Named are only the tables that are left out of the copy.
      expect(sources[0]!.notes.every(({ kind }) => kind === 'nsys_tables_not_kept')).toBe(true);
    }
    const sql = `SELECT (SELECT count(*) FROM nsys_kernel) AS kernels, count(*) AS n, sum("end" - start) AS ns,
      (SELECT count(*) FROM nsys_raw.PADDING WHERE bytes IS NULL) AS padding FROM nsys_raw.${KERNEL}`;
    const answer = ask(root, 'sql', sql, '--db', 'a.duckdb', '--format', 'csv');
    expect(answer.stdout).toBe('kernels,n,ns,padding\n400,400,2000,1\n');
    rmSync(join(root, 'x.sqlite'));
  });
});

describe('lines of JSON', () => {
  const LINES = jsonLines(SMALL);
  const take = async (text: string | Buffer, name = 'x.jsonl'): Promise<IngestSource> =>
    (await bench().take(name, Buffer.from(text))).source;

  it('cut anywhere', async () => {
    const bytes = Buffer.from(LINES);
    const cuts = Array.from({ length: 12 }, (_, i) => bytes.subarray(0, Math.round((bytes.length * (i + 1)) / 13)));
    for (const source of await bench().takeAll(cuts, 'x.jsonl')) {
      if (source.status === 'ingested') expect(source.notes.length).toBeLessThan(3);
      else expect(source.error?.code).toBe('MBF2704');
    }
  });

  it('with lines that are none: passed over with a note, the others are read', async () => {
    const wrong = ['{"Type":79,"CudaEvent":{"startNs":', '\x00\x01\xff\xfe', 'Segmentation fault', '[]', '7', '"x"'];
    const lines = LINES.split('\n');
    const parts = [lines.slice(0, 9), wrong, lines.slice(9)];
    const bytes = parts.map((part, i) => Buffer.from(`${part.join('\n')}\n`, i === 1 ? 'latin1' : 'utf8'));
    const source = await take(Buffer.concat(bytes));
    expectIngested(source);
    const reported = source.notes.filter(({ kind }) => kind === 'nsys_line_broken');
    expect(reported.reduce((n, { count }) => n + count, 0)).toBe(wrong.length);
    expect(reported[0]!.line).toBe(10);
    expect(await latest('*', 'nsys_api')).toHaveLength(5);
  });

  it('with records of any shape', async () => {
    const numbers = [0, -1, 1.5, 1e300];
    const texts = ['', 'x', '-9223372036854775809', '18446744073709551616'];
    const odd: unknown[] = [null, true, ...numbers, ...texts, [], {}, [[]], { a: { b: {} } }];
    const outer = 'startNs endNs Timestamp EndTimestamp globalPid globalTid GlobalPid GlobalTid correlationId name';
    const fields =
      'returnValue eventClass deviceId address bytes Text TextId DomainId Level Command Commname EnvironId';
    const inner = 'gridX gridY shortName sizebytes copyKind syncType graphId registersPerThread';
    const filled = (names: string, value: unknown): object =>
      Object.fromEntries(names.split(' ').map((name) => [name, value]));
    const events: string[] = [];
    for (const type of [27, 34, 47, 48, 49, 59, 60, 75, 79, 80, 106, 117, 129, 130, 152, 9999, '79', null, 1.5]) {
      for (const value of odd) {
        const all = filled(`${outer} ${fields} operationType memKind`, value);
        const sizes = filled(inner, value);
        for (const record of [{ kernel: sizes }, { memcpy: sizes }, { sync: sizes, memset: sizes }])
          events.push(JSON.stringify({ Type: type, AnyEvent: { ...all, ...record } }));
        events.push(JSON.stringify({ Type: type, AnyEvent: value }));
      }
    }
    events.push(
      '{"data":[null,1,"a",{"nameIdx":"0","globalTid":"x"},{"nameIdx":null}]}',
      '{"type":"String","id":[],"value":7}',
    );
    events.push('{"Type":59,"NvtxEvent":{"Timestamp":"5","Text":"a\\u0000b \\ud800","__proto__":{"x":1}}}');
    events.push(`{"Type":59,"NvtxEvent":${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}}`);
    const source = await take(`${LINES}${events.join('\n')}\n`);
    expectIngested(source);
    expect(await latest('text', 'nsys_range', "text = 'a' || chr(0) || 'b \ufffd'")).toHaveLength(1);
  });

  it('of which one is longer than any', async () => {
    const folder = join(bench().directory, 'huge-line');
    mkdirSync(folder);
    const path = join(folder, 'x.jsonl');
    writeFileSync(path, LINES);
    // A hole is 300 MiB of zeros without an end of line.
    truncateSync(path, LINES.length + 300 * MIB);
    appendFileSync(path, '\n{"Type":59,"NvtxEvent":{"Timestamp":"5","Text":"after the hole"}}\n');
    const { source } = await bench().takePath(path);
    rmSync(folder, { recursive: true });
    expectIngested(source);
    expect(source.notes.map(({ kind, text }) => [kind, text])).toEqual([
      ['nsys_line_broken', expect.stringContaining('is longer than')],
    ]);
    expect(await latest('text', 'nsys_range', "text = 'after the hole'")).toHaveLength(1);
  });

  it('without a single record: MBF2704', async () => {
    const steps = `{"data": ["a"]}\n${'{"step": 1}\n'.repeat(5000)}`;
    for (const text of ['{"data": ["a", "b"]}\n', steps, '{"type":"String","id":"0","value":"a"}\n'])
      expectFailed(await take(text, 'x.json'), 'MBF2704');
  });
});

describe('a folder of Parquet files', () => {
  let folders = 0;

  async function take(change: (folder: string) => void | Promise<void>, tables: Tables = SMALL): Promise<IngestSource> {
    const folder = join(bench().directory, `folder-${folders++}_pqtdir`);
    await writeParquetFolder(folder, tables);
    await change(folder);
    const { source } = await bench().takePath(folder);
    rmSync(folder, { recursive: true });
    return source;
  }
  const file = (folder: string, table = KERNEL): string => join(folder, `${table}.parquet`);

  it.each<[string, (path: string) => unknown]>([
    ['empty', (path) => truncateSync(path, 0)],
    ['four bytes', (path) => truncateSync(path, 4)],
    ['cut in the middle', (path) => truncateSync(path, Math.round(readFileSync(path).length / 2))],
    ['without its last byte', (path) => truncateSync(path, readFileSync(path).length - 1)],
    ['text', (path) => writeFileSync(path, 'no Parquet at all, but text that is long enough\n')],
    ['zeros between the marks', (path) => writeFileSync(path, `PAR1${'\0'.repeat(500)}PAR1`)],
    ['a directory', (path) => [rmSync(path), mkdirSync(path)]],
  ])('one of which is %s: named, and the others are read', async (what, change) => {
    const source = await take((folder) => void change(file(folder)));
    expectIngested(source);
    expect(damagedTables(source)).toEqual(what === 'a directory' ? [] : [KERNEL]);
    expect(source.notes.length).toBe(what === 'a directory' ? 0 : 1);
    expectPlainNotes(source);
    const rows = await kept(source);
    for (const [name, table] of Object.entries(SMALL))
      if (name !== KERNEL) expect([name, rows.get(name)]).toEqual([name, table.rows.length]);
  });

  it('bytes of which were changed: read or reported', async () => {
    const random = seeded(3);
    const folder = join(bench().directory, 'changed_pqtdir');
    await writeParquetFolder(folder, SMALL);
    const whole = readFileSync(file(folder));
    for (let i = 0; i < 8; i++) {
      writeFileSync(file(folder), changedBytes(whole, random, 8, 4, whole.length - 8));
      const { source } = await bench().takePath(folder);
      expectIngested(source);
      expectPlainNotes(source);
    }
  });

  it('of which the one that says what it is is damaged', async () => {
    const source = await take((folder) => truncateSync(file(folder, 'META_DATA_EXPORT'), 10));
    expectIngested(source);
    expect(damagedTables(source)).toEqual(['META_DATA_EXPORT']);
  });

  it('of which every one is damaged: nothing but notes', async () => {
    const source = await take((folder) => {
      for (const table of Object.keys(SMALL)) truncateSync(file(folder, table), 20);
    });
    expect([...(await kept(source)).values()].every((rows) => rows === 0)).toBe(true);
    expect(damagedTables(source).sort()).toEqual(Object.keys(SMALL).sort());
  });

  it('named like an export, with nothing of one in it: MBF2703', async () => {
    const source = await take(() => undefined, { users: { columns: { id: 'INTEGER' }, rows: [{ id: 1 }] } });
    expectFailed(source, 'MBF2703');
  });

  it('with columns of types that are no numbers and no texts', async () => {
    const tables = {
      [KERNEL]: `SELECT [1, 2] AS start, {'a': 1} AS "end", DATE '2026-01-01' AS shortName, 1::HUGEINT AS correlationId,
        true AS deviceId, 1.5::DECIMAL(9, 2) AS gridX`,
      NVTX_EVENTS: `SELECT 1.0::DOUBLE AS start, 59::UTINYINT AS eventType, 'x'::BLOB AS text, 'y' AS textId,
        18446744073709551615::UBIGINT AS globalTid`,
    };
    const source = await take(async (folder) => {
      const instance = await DuckDBInstance.create(':memory:');
      const connection = await instance.connect();
      for (const [table, sql] of Object.entries(tables))
        await connection.run(`COPY (${sql}) TO '${file(folder, table)}' (FORMAT parquet)`);
      connection.closeSync();
      instance.closeSync();
    });
    expectIngested(source);
    expect(await latest('start_ns, type, pid, tid, text_id', 'nsys_nvtx')).toEqual([
      { start_ns: 1, type: 'push_pop', pid: 0xffffff, tid: 0xffffff, text_id: null },
    ]);
  });
});

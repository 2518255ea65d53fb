/** Damaged JSON lines and Parquet folders of Nsight Systems: what is whole is kept and the rest is named. */
import { appendFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { IngestSource } from '../../src/model/results/common.js';
import { MIB } from '../../src/model/units.js';
import { damagedTables, expectFailed, expectIngested, expectPlainNotes, nsysBench } from '../support/nsys/bench.js';
import { jsonLines, smallExport, sqliteBytes, type Tables, writeParquetFolder } from '../support/nsys-export.js';
import { seeded } from './harness.js';

const SMALL = smallExport();
const KERNEL = 'CUPTI_ACTIVITY_KIND_KERNEL';

const { bench, latest, kept } = nsysBench(sqliteBytes(SMALL));

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
    const told = source.notes.filter(({ kind }) => kind === 'nsys_line_broken');
    expect(told.reduce((n, { count }) => n + count, 0)).toBe(wrong.length);
    expect(told[0]!.line).toBe(10);
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
    for (const text of [
      '{"data": ["a", "b"]}\n',
      `{"data": ["a"]}\n${'{"step": 1}\n'.repeat(5000)}`,
      '{"type":"String","id":"0","value":"a"}\n',
    ]) {
      const source = await take(text, 'x.json');
      expectFailed(source, 'MBF2704');
    }
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

  it.each<[string, (path: string) => void]>([
    ['empty', (path) => truncateSync(path, 0)],
    ['four bytes', (path) => truncateSync(path, 4)],
    ['cut in the middle', (path) => truncateSync(path, Math.round(readFileSync(path).length / 2))],
    ['without its last byte', (path) => truncateSync(path, readFileSync(path).length - 1)],
    ['text', (path) => writeFileSync(path, 'no Parquet at all, but text that is long enough\n')],
    [
      'zeros between the marks',
      (path) => writeFileSync(path, Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(500), Buffer.from('PAR1')])),
    ],
    [
      'a directory',
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
    ],
  ])('one of which is %s: named, and the others are read', async (what, change) => {
    const source = await take((folder) => change(file(folder)));
    expectIngested(source);
    expect(damagedTables(source)).toEqual(what === 'a directory' ? [] : [KERNEL]);
    expect(source.notes.length).toBe(what === 'a directory' ? 0 : 1);
    expectPlainNotes(source);
    const rows = await kept(source);
    for (const [name, table] of Object.entries(SMALL))
      if (name !== KERNEL) expect([name, rows.get(name)]).toEqual([name, table.rows.length]);
  });

  it('bytes of which were changed: read or told', async () => {
    const random = seeded(3);
    const folder = join(bench().directory, 'changed_pqtdir');
    await writeParquetFolder(folder, SMALL);
    const whole = readFileSync(file(folder));
    for (let i = 0; i < 8; i++) {
      const bytes = Buffer.from(whole);
      for (let flip = 0; flip < 8; flip++)
        bytes[4 + Math.floor(random() * (bytes.length - 12))] = Math.floor(random() * 256);
      writeFileSync(file(folder), bytes);
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
    const tables = [
      [
        KERNEL,
        "SELECT [1, 2] AS start, {'a': 1} AS \"end\", DATE '2026-01-01' AS shortName, 1::HUGEINT AS correlationId, true AS deviceId, 1.5::DECIMAL(9, 2) AS gridX",
      ],
      [
        'NVTX_EVENTS',
        "SELECT 1.0::DOUBLE AS start, 59::UTINYINT AS eventType, 'x'::BLOB AS text, 'y' AS textId, 18446744073709551615::UBIGINT AS globalTid",
      ],
    ] as const;
    const source = await take(async (folder) => {
      const { DuckDBInstance } = await import('@duckdb/node-api');
      const instance = await DuckDBInstance.create(':memory:');
      const connection = await instance.connect();
      for (const [table, sql] of tables)
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

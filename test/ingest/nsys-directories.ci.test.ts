/** Ingests of whole directories: every table of an export on request, files that changed, and what lies beside them. */
import { renameSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { nsysStore, statuses } from '../support/nsys/store.js';
import {
  changed,
  jsonLines,
  SECRETS,
  smallExport,
  sqliteBytes,
  type Tables,
  UTC_NS,
  without,
  writeParquetFolder,
} from '../support/nsys-export.js';

const { storeForEach, at, put, select, run, take, takeTables, report, count, expectNone } = nsysStore();

/** Rows as text; `-` is NULL. */
const rowLines = async (columns: string, source: string): Promise<string[]> =>
  (await select(`SELECT ${columns} FROM ${source}`)).map((row) =>
    Object.values(row)
      .map((value) => value ?? '-')
      .join(' '),
  );

const EXPORT = smallExport();
const SQLITE = sqliteBytes(EXPORT);
const LOG = ' iteration        1/      10 | lm loss: 1.000000E+01 |\n';

describe('every table of an export', () => {
  storeForEach();
  const PRIVATE = ['META_DATA_CAPTURE', 'META_DATA_EXPORT', 'ProcessStreams', 'TARGET_INFO_SYSTEM_ENV'];
  const rawTables = async (): Promise<string[]> => {
    const sql = "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'nsys_raw' ORDER BY 1";
    return (await select(sql)).map(({ name }) => String(name));
  };
  const raw = (table: string): Promise<Record<string, unknown>[]> =>
    select(`SELECT * EXCLUDE (source_id) FROM nsys_raw."${table}"`);

  async function expectAll(tables: Tables): Promise<void> {
    const open = Object.keys(tables).filter((name) => !PRIVATE.includes(name));
    expect(await rawTables()).toEqual(open.sort());
    for (const [name, { columns, rows }] of Object.entries(tables)) {
      if (PRIVATE.includes(name) || name === 'StringIds') continue;
      const exact = (value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);
      const wanted = rows.map((row) =>
        Object.fromEntries(Object.keys(columns).map((column) => [column, exact(row[column] ?? null)])),
      );
      const found = await raw(name);
      expect(
        found.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, exact(value)]))),
        name,
      ).toEqual(wanted);
    }
    await expectNone(SECRETS);
    // Private texts apart, those that nobody names are there, too.
    const strings = (await raw('StringIds')).map(({ value }) => value);
    expect(strings).toContain('in no table');
    expect(strings).toContain('not of the job');
    expect(strings.some((text) => /^(?:RANK|WORLD_SIZE)=/.test(String(text)))).toBe(false);
  }

  it('is in the schema nsys_raw, as it stands, from SQLite and from Parquet', async () => {
    for (const name of ['a.sqlite', 'a_pqtdir']) {
      // The folder finds the tables of the file, without rows.
      await select('DELETE FROM source');
      for (const table of await rawTables()) await select(`DELETE FROM nsys_raw."${table}"`);
      const source = await takeTables(name, EXPORT, { allTables: true });
      expect(source.status).toBe('ingested');
      expect(new Set(source.notes.map(({ kind }) => kind))).toEqual(new Set(['nsys_tables_not_kept']));
      expect(await report(name)).toMatchObject({ has_all_tables: true });
      await expectAll(EXPORT);
    }
  });

  it('comes with the first ingest that asks for it, and stays', async () => {
    expect((await takeTables('a.sqlite', EXPORT)).status).toBe('ingested');
    expect(await rawTables()).toEqual([]);
    expect((await take('a.sqlite', { allTables: true })).status).toBe('ingested');
    await expectAll(EXPORT);
    expect((await take('a.sqlite', { allTables: true })).status).toBe('unchanged');
    expect((await take('a.sqlite')).status).toBe('unchanged');
    await expectAll(EXPORT);
    expect(await count('nsys_memory')).toBe(6);
  });

  it('is not asked for twice of lines of JSON, which have none', async () => {
    put('a.jsonl', jsonLines(EXPORT));
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
    put('a.sqlite', SQLITE);
    put('b.sqlite', sqliteBytes(newer));
    const result = await run(['a.sqlite', 'b.sqlite'], { allTables: true, run: 'both' });
    expect(statuses(result)).toEqual({ 'a.sqlite': 'ingested', 'b.sqlite': 'ingested' });
    expect(
      await rowLines(
        'source_id, launchType, cluster, registersPerThread, count(*)',
        'nsys_raw.CUPTI_ACTIVITY_KIND_KERNEL GROUP BY ALL ORDER BY 1',
      ),
    ).toEqual(['1 1 - 64 2', '2 - 2 many 2']);
    const ids = await rowLines('source_id, id', 'nsys_raw.ENUM_GPU_CTX_SWITCH ORDER BY ALL');
    expect(ids).toEqual(['1 -1', '1 0', '2 0.5']);
    expect(await raw('ONLY_HERE')).toEqual([{ 'a "b"': 'c', nothing: '7' }]);
  });

  it('goes with its source when the file changes, and all of it when that is no export any more', async () => {
    put('run/a.sqlite', SQLITE);
    put('run/b.sqlite', sqliteBytes(smallExport({ salt: 1 })));
    await run(['run'], { allTables: true });
    const table = 'nsys_raw.CUPTI_ACTIVITY_KIND_KERNEL';
    expect(await count(table)).toBe(4);
    const fewer = changed(smallExport({ salt: 2 }), {
      CUPTI_ACTIVITY_KIND_KERNEL: {
        columns: { ...EXPORT['CUPTI_ACTIVITY_KIND_KERNEL']!.columns, late: 'TEXT', gridX: 'REAL' },
        rows: EXPORT['CUPTI_ACTIVITY_KIND_KERNEL']!.rows.slice(1).map((row) => ({ ...row, late: 'yes' })),
      },
    });
    put('run/a.sqlite', sqliteBytes(fewer));
    const again = async () => statuses(await run(['run'], { allTables: true }));
    expect(await again()).toEqual({ 'a.sqlite': 'ingested', 'b.sqlite': 'unchanged' });
    expect(await rowLines('late, count(*)', `${table} GROUP BY ALL ORDER BY ALL`)).toEqual(['yes 1', '- 2']);
    put('run/a.sqlite', 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n');
    expect(await again()).toEqual({ 'a.sqlite': 'MBF2001', 'b.sqlite': 'unchanged' });
    expect(await count(table)).toBe(2);
    expect(await count(table, 'source_id NOT IN (SELECT source_id FROM nsys_report)')).toBe(0);
  });
});

describe('a second ingest', () => {
  storeForEach();
  it('leaves an unchanged database and an unchanged folder as they are', async () => {
    put('run/a.sqlite', SQLITE);
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
    put('run/a.sqlite', SQLITE);
    put('run/b.sqlite', sqliteBytes(smallExport({ salt: 1, host: 'other-host' })));
    await run(['run']);
    put('run/a.sqlite', sqliteBytes(smallExport({ salt: 2, environment: ['RANK=5'] })));
    const result = await run(['run']);
    expect(result.sources.map(({ status, rank }) => `${status} ${rank}`)).toEqual(['ingested 5', 'unchanged 3']);
    const hosts = await rowLines('rank, host', 'nsys_report JOIN source USING (source_id) ORDER BY rank');
    expect(hosts).toEqual(['3 other-host', '5 small-node-07']);
    expect(await count('nsys_memory')).toBe(12);
    expect(await count('nsys_text', 'source_id NOT IN (SELECT source_id FROM source)')).toBe(0);
  });
});

describe('what lies in one directory', () => {
  storeForEach();
  it('two exports and a log: three sources of one run', async () => {
    put('run/rank0.sqlite', sqliteBytes(smallExport({ environment: ['RANK=0', 'WORLD_SIZE=2'] })));
    put('run/rank1.sqlite', sqliteBytes(smallExport({ environment: ['RANK=1', 'WORLD_SIZE=2'], salt: 1 })));
    put('run/train.log', LOG);
    const { runs, sources } = await run(['run']);
    expect(runs).toHaveLength(1);
    expect(sources.map(({ path, format, rank }) => `${path} ${format} ${rank}`)).toEqual([
      'rank0.sqlite nsys 0',
      'rank1.sqlite nsys 1',
      'train.log log null',
    ]);
  });

  it('the tables of a folder and files beside them', async () => {
    await writeParquetFolder(at('run'), EXPORT);
    put('run/train.log', LOG);
    put('run/deep/b.sqlite', SQLITE);
    const all = { run: 'ingested', 'deep/b.sqlite': 'ingested', 'train.log': 'ingested' };
    expect(statuses(await run(['run']))).toEqual(all);
  });

  it('a Parquet file that is named alone, and data sets: no export', async () => {
    await writeParquetFolder(at('run/data'), { part_0: { columns: { a: 'INTEGER' }, rows: [{ a: 1 }] } });
    put('run/train.log', LOG);
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

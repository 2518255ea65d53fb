import * as fs from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { MbfError } from '../../src/model/errors.js';
import { openStore } from '../../src/store/open-store.js';
import { SCHEMA_VERSION } from '../../src/store/schema.js';
import { newStore } from '../support/new-store.js';
import { onDuckDB, readWithStockClient, refusal } from './duckdb.js';
import { scratchDirectory } from './scratch.js';

async function makeStore(file: string): Promise<void> {
  await (await openStore(file, { mode: 'write' })).close();
}

async function expectRefusal(file: string, code: string, mode: 'read' | 'write' = 'write'): Promise<MbfError> {
  const error = await refusal(openStore(file, { mode }));
  expect(error.code).toBe(code);
  expect(error.place.file).toBe(file);
  return error;
}

let directory = '';
/** Where a store may be; nothing else is in its directory. */
let file = '';
beforeEach(() => {
  directory = scratchDirectory();
  file = join(directory, 'a.duckdb');
});

describe('openStore', () => {
  it('creates a missing store, and leaves nothing else behind', async () => {
    const store = await openStore(file, { mode: 'write' });
    expect(await store.select('FROM mbforensics_schema')).toEqual([{ version: SCHEMA_VERSION }]);
    await store.close();
    await store.close();
    expect(fs.readdirSync(directory)).toEqual(['a.duckdb']);
  });

  it('has a comment on every table and column, for any client', async () => {
    await makeStore(file);
    const [columns, tables] = readWithStockClient(file, [
      `SELECT table_name || '.' || column_name AS name, comment FROM duckdb_columns()
       WHERE NOT internal AND table_name IN (SELECT table_name FROM duckdb_tables())`,
      'SELECT table_name AS name, comment FROM duckdb_tables()',
    ]);
    expect(tables!.length).toBeGreaterThan(70);
    expect(columns!.length).toBeGreaterThan(800);
    for (const { name, comment } of [...columns!, ...tables!]) expect(comment, String(name)).toMatch(/\w/);
  });

  it('treats an empty file like a missing one when writing, and reports it when reading', async () => {
    fs.writeFileSync(file, '');
    await expectRefusal(file, 'MBF1004', 'read');
    await makeStore(file);
    expect(fs.statSync(file).size).toBeGreaterThan(0);
  });

  it('does not create a store for a reader', async () => {
    await expectRefusal(file, 'MBF1004', 'read');
    expect(fs.existsSync(file)).toBe(false);
  });

  it('does not replay the log that an earlier store of this name left', async () => {
    fs.writeFileSync(`${file}.wal`, Buffer.alloc(500, 7));
    await makeStore(file);
    expect(fs.readdirSync(directory)).toEqual(['a.duckdb']);
  });

  it('refuses to write through a reader', async () => {
    await (await newStore(file)).close();
    const store = await openStore(file, { mode: 'read' });
    await expect(store.run('DELETE FROM run')).rejects.toThrow(/read-only/);
    await store.close();
  });

  it('refuses a second opening in one process, also through a link, until the first is closed', async () => {
    const alias = join(directory, 'b.duckdb');
    const store = await newStore(file);
    fs.symlinkSync(file, alias);
    await expectRefusal(file, 'MBF3001');
    await expectRefusal(alias, 'MBF3001', 'read');
    await store.close();
    await (await openStore(alias, { mode: 'read' })).close();
  });

  it('can be opened again after a refusal', async () => {
    fs.writeFileSync(file, 'no database');
    await expectRefusal(file, 'MBF3004');
    fs.truncateSync(file, 0);
    await makeStore(file);
  });

  it('refuses files that are not a DuckDB database', async () => {
    const contents = ['x', 'SQLite format 3\0'.padEnd(4096, '\0'), 'text\n'.repeat(10_000), 'PAR1'.padEnd(500, '\0')];
    for (const [index, content] of contents.entries()) {
      const foreign = join(directory, `${index}`);
      fs.writeFileSync(foreign, content);
      for (const mode of ['write', 'read'] as const) await expectRefusal(foreign, 'MBF3004', mode);
      expect(fs.readFileSync(foreign, 'latin1')).toBe(content);
    }
  });

  it.each([
    ['a table', 'CREATE TABLE theirs (i INTEGER)'],
    ['a view', 'CREATE VIEW theirs AS SELECT 1 AS i'],
    ['a table named like our version table', 'CREATE TABLE mbforensics_schema (text VARCHAR)'],
  ])('refuses a foreign DuckDB database with %s, and does not change it', async (_, sql) => {
    await onDuckDB(file, sql);
    const before = fs.readFileSync(file);
    await expectRefusal(file, 'MBF3004');
    await expectRefusal(file, 'MBF3004', 'read');
    expect(fs.readFileSync(file).equals(before)).toBe(true);
    expect(fs.readdirSync(directory)).toEqual(['a.duckdb']);
  });

  it.each([
    ['newer', SCHEMA_VERSION + 1, 'UPDATE mbforensics_schema SET version = version + 1'],
    ['older', SCHEMA_VERSION - 1, 'UPDATE mbforensics_schema SET version = version - 1'],
    [
      ...(['of a build before the first release', 17] as const),
      `CREATE TABLE mbforensics_schema (version INTEGER NOT NULL, title VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL);
       INSERT INTO mbforensics_schema SELECT version, '', now()::TIMESTAMP FROM range(1, 18) AS made(version)`,
    ],
  ])('refuses a store of another schema version, %s, and does not change it', async (_, version, sql) => {
    if (sql.startsWith('UPDATE')) await (await newStore(file)).close();
    await onDuckDB(file, sql);
    const before = fs.readFileSync(file);
    for (const mode of ['write', 'read'] as const) {
      const error = await expectRefusal(file, 'MBF3003', mode);
      expect(error.message).toBe(
        `another build of mbforensics made it: its schema is version ${version}, not ${SCHEMA_VERSION}`,
      );
    }
    expect(fs.readFileSync(file).equals(before)).toBe(true);
    expect(fs.readdirSync(directory)).toEqual(['a.duckdb']);
  });

  it('makes the tables in a database that has none, and reports it when reading', async () => {
    await onDuckDB(file, 'SELECT 1');
    await expectRefusal(file, 'MBF1004', 'read');
    const store = await openStore(file, { mode: 'write' });
    expect(await store.select('FROM run')).toEqual([]);
    await store.close();
  });

  it('reports a path that cannot be a store', async () => {
    const missing = join(directory, 'no', 'such', 'a.duckdb');
    expect((await expectRefusal(missing, 'MBF3005')).message).not.toContain('.new');
    fs.mkdirSync(join(directory, 'folder'));
    await expectRefusal(join(directory, 'folder'), 'MBF3005');
    await expectRefusal(join(directory, 'x'.repeat(300)), 'MBF3005');
  });

  it('removes spill directories of ended processes', async () => {
    fs.mkdirSync(join(directory, 'a.duckdb.4242.tmp'));
    fs.writeFileSync(join(directory, 'a.duckdb.4242.tmp', 'duckdb_temp_storage-0.tmp'), 'spilt');
    await makeStore(file);
    expect(fs.readdirSync(directory)).toEqual(['a.duckdb']);
  });

  it('spills next to the store within its memory limit, and cleans up', async () => {
    const store = await openStore(file, { mode: 'write', memoryLimitBytes: 64 * 2 ** 20, threads: 1 });
    const [row] = await store.select(
      `SELECT count(*) AS n FROM (SELECT md5(i::VARCHAR) AS text FROM range(3000000) AS rows(i) ORDER BY text OFFSET 0)`,
    );
    expect(row).toEqual({ n: 3_000_000 });
    await store.close();
    expect(fs.readdirSync(directory)).toEqual(['a.duckdb']);
  });
});

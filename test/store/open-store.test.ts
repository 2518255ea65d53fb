import * as fs from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeEach, describe, expect, it } from 'vitest';
import type { MbfError } from '../../src/model/errors.js';
import { migrate, readSchemaState } from '../../src/store/migrate.js';
import { MIGRATIONS, SCHEMA_VERSION } from '../../src/store/migrations.js';
import { openStore } from '../../src/store/open-store.js';
import { newStore } from '../support/new-store.js';
import { onDuckDB, refusal } from './duckdb.js';
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
  it('creates a missing store at the newest schema, and leaves nothing else behind', async () => {
    const store = await openStore(file, { mode: 'write' });
    expect(await store.select('SELECT version, title FROM mbforensics_schema ORDER BY version')).toEqual(
      MIGRATIONS.map(({ version, title }) => ({ version, title })),
    );
    await store.close();
    await store.close();
    expect(fs.readdirSync(directory)).toEqual(['a.duckdb']);
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

  it('refuses a store of a newer schema', async () => {
    await (await newStore(file)).close();
    await onDuckDB(file, `INSERT INTO mbforensics_schema VALUES (${SCHEMA_VERSION + 7}, 'later', now()::TIMESTAMP)`);
    const error = await expectRefusal(file, 'MBF3003');
    expect(error.message).toContain(`version ${SCHEMA_VERSION + 7}`);
    await expectRefusal(file, 'MBF3003', 'read');
  });

  it('brings an older schema up to date even for a reader', async () => {
    // Version 0: a database in which nothing was made yet.
    await onDuckDB(file, 'SELECT 1');
    const store = await openStore(file, { mode: 'read' });
    expect(await store.select('SELECT max(version) AS version FROM mbforensics_schema')).toEqual([
      { version: SCHEMA_VERSION },
    ]);
    await store.close();
  });

  it('reports a path that cannot be a store', async () => {
    const missing = join(directory, 'no', 'such', 'a.duckdb');
    expect((await expectRefusal(missing, 'MBF3005')).message).not.toContain('.new');
    fs.mkdirSync(join(directory, 'folder'));
    await expectRefusal(join(directory, 'folder'), 'MBF3005');
    await expectRefusal(join(directory, 'x'.repeat(300)), 'MBF3005');
  });

  it('removes spill directories and unfinished stores of ended processes', async () => {
    const abandoned = join(directory, 'a.duckdb.4242.new');
    fs.writeFileSync(abandoned, 'half');
    fs.utimesSync(abandoned, new Date(0), new Date(0));
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

describe('migrate', () => {
  const steps = [
    { version: 1, title: 'one', sql: 'CREATE TABLE a (i INTEGER); INSERT INTO a VALUES (1);' },
    { version: 2, title: 'two', sql: 'UPDATE a SET i = 2' },
    { version: 3, title: 'three', sql: 'DELETE FROM a; SELECT error($$no$$)' },
  ];

  it('runs only the steps above the version, and undoes a step that fails', async () => {
    const instance = await DuckDBInstance.create(file);
    const connection = await instance.connect();
    await migrate(connection, 0, steps.slice(0, 1));
    expect(await readSchemaState(connection)).toMatchObject({ kind: 'ours', version: 1 });
    await expect(migrate(connection, 1, steps)).rejects.toThrow('no');
    expect(await readSchemaState(connection)).toMatchObject({ kind: 'ours', version: 2 });
    expect((await connection.runAndReadAll('FROM a')).getRows()).toEqual([[2]]);
    connection.closeSync();
    instance.closeSync();
  });

  it('has versions that count up from 1', () => {
    expect(MIGRATIONS.map((step) => step.version)).toEqual(MIGRATIONS.map((_, index) => index + 1));
  });
});

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { MbfError } from '../../src/model/errors.js';
import { migrate, readSchemaState } from '../../src/store/migrate.js';
import { MIGRATIONS, SCHEMA_VERSION } from '../../src/store/migrations.js';
import { openStore } from '../../src/store/open-store.js';
import { scratchDirectory } from './scratch.js';

async function makeStore(file: string): Promise<void> {
  await (await openStore(file, { mode: 'write' })).close();
}

/** Runs statements on a file with DuckDB alone, behind the store's back. */
async function withDuckDB(file: string, ...statements: readonly string[]): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  try {
    let rows: unknown[][] = [];
    for (const sql of statements) rows = (await connection.runAndReadAll(sql)).getRows();
    return rows;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function failure(work: Promise<unknown>): Promise<MbfError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(MbfError);
  return error as MbfError;
}

async function expectRefusal(file: string, code: string, mode: 'read' | 'write' = 'write'): Promise<MbfError> {
  const error = await failure(openStore(file, { mode }));
  expect(error.code).toBe(code);
  expect(error.place.file).toBe(file);
  return error;
}

describe('openStore', () => {
  it('creates a missing store at the newest schema, and leaves nothing else behind', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    const store = await openStore(file, { mode: 'write' });
    expect(await store.select('SELECT version, title FROM mbforensics_schema ORDER BY version')).toEqual(
      MIGRATIONS.map(({ version, title }) => ({ version, title })),
    );
    await store.close();
    await store.close();
    expect(readdirSync(join(file, '..'))).toEqual(['a.duckdb']);
  });

  it('treats an empty file like a missing one when writing, and reports it when reading', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    writeFileSync(file, '');
    await expectRefusal(file, 'MBF1004', 'read');
    await makeStore(file);
    expect(statSync(file).size).toBeGreaterThan(0);
  });

  it('does not create a store for a reader', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    await expectRefusal(file, 'MBF1004', 'read');
    expect(existsSync(file)).toBe(false);
  });

  it('does not replay the log that an earlier store of this name left', async () => {
    const directory = scratchDirectory();
    const file = join(directory, 'a.duckdb');
    writeFileSync(`${file}.wal`, Buffer.alloc(500, 7));
    await makeStore(file);
    expect(readdirSync(directory)).toEqual(['a.duckdb']);
  });

  it('refuses to write through a reader', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    await makeStore(file);
    const store = await openStore(file, { mode: 'read' });
    await expect(store.run('DELETE FROM run')).rejects.toThrow(/read-only/);
    await store.close();
  });

  it('refuses a second opening in one process, also through a link, until the first is closed', async () => {
    const directory = scratchDirectory();
    const file = join(directory, 'a.duckdb');
    const alias = join(directory, 'b.duckdb');
    const store = await openStore(file, { mode: 'write' });
    symlinkSync(file, alias);
    await expectRefusal(file, 'MBF3001');
    await expectRefusal(alias, 'MBF3001', 'read');
    await store.close();
    await (await openStore(alias, { mode: 'read' })).close();
  });

  it('can be opened again after a refusal', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    writeFileSync(file, 'no database');
    await expectRefusal(file, 'MBF3004');
    truncateSync(file, 0);
    await makeStore(file);
  });

  it('refuses files that are not a DuckDB database', async () => {
    const directory = scratchDirectory();
    const contents = ['x', 'SQLite format 3\0'.padEnd(4096, '\0'), 'text\n'.repeat(10_000), 'PAR1'.padEnd(500, '\0')];
    for (const [index, content] of contents.entries()) {
      const file = join(directory, `${index}`);
      writeFileSync(file, content);
      await expectRefusal(file, 'MBF3004');
      await expectRefusal(file, 'MBF3004', 'read');
      expect(readFileSync(file, 'latin1')).toBe(content);
    }
  });

  it.each([
    ['a table', 'CREATE TABLE theirs (i INTEGER)'],
    ['a view', 'CREATE VIEW theirs AS SELECT 1 AS i'],
    ['a table named like our version table', 'CREATE TABLE mbforensics_schema (text VARCHAR)'],
  ])('refuses a foreign DuckDB database with %s, and does not change it', async (_, sql) => {
    const directory = scratchDirectory();
    const file = join(directory, 'a.duckdb');
    await withDuckDB(file, sql);
    const before = readFileSync(file);
    await expectRefusal(file, 'MBF3004');
    await expectRefusal(file, 'MBF3004', 'read');
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(directory)).toEqual(['a.duckdb']);
  });

  it('refuses a store of a newer schema', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    await makeStore(file);
    await withDuckDB(file, `INSERT INTO mbforensics_schema VALUES (${SCHEMA_VERSION + 7}, 'later', now()::TIMESTAMP)`);
    const error = await expectRefusal(file, 'MBF3003');
    expect(error.message).toContain(`version ${SCHEMA_VERSION + 7}`);
    await expectRefusal(file, 'MBF3003', 'read');
  });

  it('brings an older schema up to date even for a reader', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    // Version 0: a database in which nothing was made yet.
    await withDuckDB(file, 'SELECT 1');
    const store = await openStore(file, { mode: 'read' });
    expect(await store.select('SELECT max(version) AS version FROM mbforensics_schema')).toEqual([
      { version: SCHEMA_VERSION },
    ]);
    await store.close();
  });

  /**
   * `fine` if the store opens and holds the rows it had; else the code of the error. A wrong answer or another error
   * fails.
   */
  async function outcome(file: string, rows: number): Promise<string> {
    try {
      const store = await openStore(file, { mode: 'read' });
      try {
        const [row] = await store.select('SELECT count(*) AS n, sum(length(text)) AS length FROM text_value');
        expect(row).toEqual({ n: rows, length: rows * 32 });
        return 'fine';
      } finally {
        await store.close();
      }
    } catch (error) {
      if (error instanceof MbfError) return error.code;
      throw error;
    }
  }

  async function makeFilled(file: string, rows: number): Promise<Buffer> {
    const store = await openStore(file, { mode: 'write' });
    await store.run(`INSERT INTO text_value SELECT i::INTEGER, md5(i::VARCHAR) FROM range(${rows}) AS rows(i)`);
    await store.close();
    return readFileSync(file);
  }

  it('calls a truncated store damaged, when it opens or when the missing rows are read', async () => {
    const directory = scratchDirectory();
    const bytes = await makeFilled(join(directory, 'whole.duckdb'), 20_000);
    const file = join(directory, 'cut.duckdb');
    for (const cut of [12, 100, 4096, 8191, 8192, 12_287, 12_288, 12_300, 100_000, 274_432]) {
      writeFileSync(file, bytes.subarray(0, cut));
      expect(await outcome(file, 20_000), `cut at ${cut}`).toBe('MBF3002');
      await expectRefusal(file, 'MBF3002');
    }
    for (let cut = 300_000; cut < bytes.length; cut += 50_001) {
      writeFileSync(file, bytes.subarray(0, cut));
      expect(['MBF3002', 'fine'], `cut at ${cut}`).toContain(await outcome(file, 20_000));
    }
  });

  it('never answers wrongly or crashes on flipped bytes', async () => {
    const directory = scratchDirectory();
    const bytes = await makeFilled(join(directory, 'whole.duckdb'), 50_000);
    const file = join(directory, 'flipped.duckdb');
    const seen = new Set<string>();
    for (let at = 20; at < bytes.length; at += Math.ceil(bytes.length / 60)) {
      writeFileSync(file, Buffer.from(bytes).fill(0xa5, at, at + 64));
      seen.add(await outcome(file, 50_000));
    }
    expect([...seen].sort()).toEqual(['MBF3002', 'fine']);
  });

  it('survives a garbled or cut log: what it opens is what was committed, or it is damaged', async () => {
    const directory = scratchDirectory();
    const complete = join(directory, 'whole.duckdb');
    await makeFilled(complete, 10);
    const instance = await DuckDBInstance.create(complete);
    const connection = await instance.connect();
    await connection.run(`INSERT INTO text_value SELECT i::INTEGER, md5(i::VARCHAR) FROM range(500) AS rows(i)`);
    const [bytes, log] = [readFileSync(complete), readFileSync(`${complete}.wal`)];
    connection.closeSync();
    instance.closeSync();
    const file = join(directory, 'a.duckdb');
    const outcomes = async (damaged: Buffer) => {
      writeFileSync(file, bytes);
      writeFileSync(`${file}.wal`, damaged);
      const before = await outcome(file, 10).catch(() => 'other rows');
      return before === 'fine' || before === 'MBF3002' ? before : outcome(file, 510);
    };
    expect(await outcomes(log)).toBe('fine');
    for (let at = 0; at < log.length; at += Math.ceil(log.length / 25)) {
      expect(['fine', 'MBF3002'], `cut at ${at}`).toContain(await outcomes(log.subarray(0, at)));
      const flipped = Buffer.from(log).fill(0xa5, at, at + 8);
      expect(['fine', 'MBF3002'], `flipped at ${at}`).toContain(await outcomes(flipped));
    }
  });

  it('reports a path that cannot be a store', async () => {
    const directory = scratchDirectory();
    const missing = join(directory, 'no', 'such', 'a.duckdb');
    expect((await expectRefusal(missing, 'MBF3005')).message).not.toContain('.new');
    mkdirSync(join(directory, 'folder'));
    await expectRefusal(join(directory, 'folder'), 'MBF3005');
    await expectRefusal(join(directory, 'x'.repeat(300)), 'MBF3005');
  });

  it('removes spill directories and unfinished stores of ended processes', async () => {
    const directory = scratchDirectory();
    const file = join(directory, 'a.duckdb');
    const abandoned = join(directory, 'a.duckdb.4242.new');
    writeFileSync(abandoned, 'half');
    utimesSync(abandoned, new Date(0), new Date(0));
    mkdirSync(join(directory, 'a.duckdb.4242.tmp'));
    writeFileSync(join(directory, 'a.duckdb.4242.tmp', 'duckdb_temp_storage-0.tmp'), 'spilt');
    await makeStore(file);
    expect(readdirSync(directory)).toEqual(['a.duckdb']);
  });

  it('spills next to the store within its memory limit, and cleans up', async () => {
    const directory = scratchDirectory();
    const file = join(directory, 'a.duckdb');
    const store = await openStore(file, { mode: 'write', memoryLimitBytes: 64 * 2 ** 20, threads: 1 });
    const [row] = await store.select(
      `SELECT count(*) AS n FROM (SELECT md5(i::VARCHAR) AS text FROM range(3000000) AS rows(i) ORDER BY text OFFSET 0)`,
    );
    expect(row).toEqual({ n: 3_000_000 });
    await store.close();
    expect(readdirSync(directory)).toEqual(['a.duckdb']);
  });
});

describe('migrate', () => {
  const steps = [
    { version: 1, title: 'one', sql: 'CREATE TABLE a (i INTEGER); INSERT INTO a VALUES (1);' },
    { version: 2, title: 'two', sql: 'UPDATE a SET i = 2' },
    { version: 3, title: 'three', sql: 'DELETE FROM a; SELECT error($$no$$)' },
  ];

  it('runs only the steps above the version, and undoes a step that fails', async () => {
    const instance = await DuckDBInstance.create(join(scratchDirectory(), 'a.duckdb'));
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

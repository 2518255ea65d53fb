import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open-store.js';
import { runReadOnly, streamReadOnly } from '../../src/store/read-only-sql.js';
import type { Store } from '../../src/store/store.js';
import { newStore } from '../support/new-store.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { refusal as refusalOf } from './duckdb.js';
import { scratchDirectory } from './scratch.js';

const directory = temporaryDirectory();
let store: Store;
let before: Buffer;

beforeAll(async () => {
  const file = join(directory, 'a.duckdb');
  const writer = await newStore(file);
  const now = new Date(0);
  await writer.insertRows('run', [{ run_id: 1, name: 'one', root_path: '/', created_at: now, touched_at: now }]);
  await writer.close();
  before = readFileSync(file);
  store = await openStore(file, { mode: 'read' });
});

afterAll(async () => {
  await store.close();
  expect(readFileSync(join(directory, 'a.duckdb')).equals(before)).toBe(true);
  expect(readdirSync(directory)).toEqual(['a.duckdb']);
});

const refusal = (text: string) => refusalOf(runReadOnly(store, text), text);
/** Statements between bars. */
const statements = (text: string): string[] => text.trim().split(/\s+\|\s+/);

describe('runReadOnly', () => {
  it.each([
    ' ; SELECT 1 ;; -- done',
    ...statements(`
      SELECT * FROM run | WITH r AS (FROM run) SELECT name FROM r | FROM run | VALUES (1, 2) | TABLE run | SELECT 1; |
      /* first */ SELECT 1 -- then | DESCRIBE run | SHOW TABLES | SHOW ALL TABLES | SUMMARIZE run |
      PRAGMA table_info(run) | PRAGMA show_tables | EXPLAIN SELECT * FROM run | EXPLAIN ANALYZE SELECT * FROM run |
      explain (format json) from run | PIVOT run ON name IN ('one') USING count(*) |
      SELECT 'enable_logging(' AS checkpoint, "query" FROM (SELECT 1 AS "query") |
      SELECT * FROM query_table(["run"]) LIMIT 1`),
  ])('runs %s', async (text) => {
    const result = await runReadOnly(store, text);
    expect(result.columns.length).toBeGreaterThan(0);
    expect(result.rows.length).toBeGreaterThan(0);
    for (const row of result.rows) expect(row).toHaveLength(result.columns.length);
  });

  it('gives names, types and converted values, also of columns of one name', async () => {
    const text = `SELECT name, created_at, 9223372036854775807 AS large, [1.5::DECIMAL(3, 1)] AS list, 1 AS same, 2 AS same FROM run`;
    expect(await runReadOnly(store, text)).toEqual({
      columns: [
        'name VARCHAR',
        'created_at TIMESTAMP',
        'large BIGINT',
        'list DECIMAL(3,1)[]',
        'same INTEGER',
        'same INTEGER',
      ]
        .map((column) => column.split(' '))
        .map(([name, type]) => ({ name, type })),
      rows: [['one', '1970-01-01T00:00:00Z', 2n ** 63n - 1n, [1.5], 1, 2]],
      truncated: false,
    });
  });

  it('cuts at maxRows with a mark, without computing further rows', async () => {
    const endless = 'SELECT i FROM range(1000000000000) AS rows(i)';
    const result = await runReadOnly(store, endless, { maxRows: 3 });
    expect(result.rows).toEqual([[0], [1], [2]]);
    expect(result.truncated).toBe(true);
    const exact = await runReadOnly(store, 'SELECT i FROM range(3) AS rows(i)', { maxRows: 3 });
    expect(exact).toMatchObject({ truncated: false });
    expect(exact.rows).toHaveLength(3);
    expect((await runReadOnly(store, 'FROM range(0)', { maxRows: 0 })).truncated).toBe(false);
    expect((await runReadOnly(store, 'FROM range(1)', { maxRows: 0 })).truncated).toBe(true);
  });

  it.each([
    '',
    ' ; ',
    ...statements(`
      -- nothing | SELECT 1; SELECT 2 | SELECT 1; DROP TABLE run | INSERT INTO run SELECT * FROM run |
      INSERT INTO run SELECT * FROM run RETURNING * | WITH r AS (FROM run) INSERT INTO run FROM r |
      UPDATE run SET name = 'x' | DELETE FROM run | TRUNCATE run |
      MERGE INTO run USING run AS other ON run.run_id = other.run_id WHEN MATCHED THEN DELETE | DROP TABLE run |
      CREATE TABLE t (i INTEGER) | CREATE TEMP TABLE t AS SELECT 1 | CREATE OR REPLACE TEMP VIEW v AS SELECT 1 |
      CREATE TEMP MACRO f() AS 1 | ALTER TABLE run RENAME TO walk | COMMENT ON TABLE run IS 'x' |
      COPY run TO 'DIR/out.csv' | COPY (SELECT 1) TO 'DIR/out.parquet' | COPY run FROM '/etc/passwd' |
      EXPORT DATABASE 'DIR/out' | IMPORT DATABASE 'DIR/out' | ATTACH 'DIR/other.duckdb' AS other |
      ATTACH ':memory:' AS other | DETACH a | USE memory | INSTALL httpfs | LOAD httpfs |
      LOAD 'DIR/x.duckdb_extension' | SET threads = 1 | SET VARIABLE x = 1 | RESET threads | PRAGMA threads = 1 |
      PRAGMA enable_profiling | PRAGMA force_checkpoint | CHECKPOINT | VACUUM | ANALYZE | BEGIN | COMMIT |
      PREPARE p AS SELECT 1 | CALL pragma_version() | EXPLAIN ANALYZE CREATE TEMP TABLE t AS SELECT 1 |
      EXPLAIN ANALYZE INSERT INTO run SELECT * FROM run | EXPLAIN (ANALYZE) DELETE FROM run |
      EXPLAIN /* sly */ ANALYZE DELETE FROM run | EXPLAIN ANALYZE SELECT * FROM enable_profiling() |
      SELECT * FROM read_csv('/etc/passwd') | SELECT * FROM read_text('/etc/passwd') |
      SELECT * FROM read_blob('/etc/*') | SELECT * FROM glob('/etc/*') | SELECT * FROM sniff_csv('/etc/passwd') |
      SELECT * FROM read_parquet('https://example.com/x.parquet') |
      SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_config = {'path': 'DIR/log'}) |
      SELECT * FROM "enable_logging" /* sly */ () | SELECT * FROM enable_profiling() |
      SELECT * FROM force_checkpoint() | SELECT * FROM query('DELETE FROM run') | SELECT nextval('run_ids') |
      SELECT * FROM arrow_scan(1::UBIGINT::POINTER, 1::POINTER, 1::POINTER)`),
  ])('refuses %s', async (text) => {
    const error = await refusal(text.replaceAll('DIR', directory));
    expect(error.code).toBe('MBF1005');
    expect(error.message).not.toBe('');
  });

  it('cannot read a file as a table either', async () => {
    for (const text of [
      `FROM '/etc/passwd'`,
      `FROM 'DIR/a.duckdb'`,
      `FROM read_duckdb('DIR/a.duckdb')`,
      `FROM read_duckdb('DIR/none')`,
      `FROM '/etc/passwd.csv'`,
    ]) {
      expect(['MBF1005', 'MBF1006']).toContain((await refusal(text.replace('DIR', directory))).code);
    }
    expect(existsSync(join(directory, 'log'))).toBe(false);
  });

  it.each([
    ['SELEC 1', /syntax error at or near "SELEC"[\s\S]*LINE 1: SELEC 1\n {8}\^/],
    ['SELECT nope FROM run', /Referenced column "nope" not found[\s\S]*LINE 1/],
    ['SELECT * FROM nowhere', /nowhere does not exist/],
    [`SELECT name::INTEGER FROM run`, /Could not convert string 'one' to INT32/],
    [`SELECT error('No space left on device')`, /No space left/],
    [`SELECT user_metadata_id.x FROM event`, /user_metadata_id|metadata/],
    ['SELECT ?', /parameters: 1/],
    ['SELECT $x', /parameters: x/],
  ])('reports what is wrong with %s', async (text, message) => {
    const error = await refusal(text);
    expect(error.message).toMatch(message);
    expect(error.code).toBe('MBF1006');
  });

  it('needs a store opened for reading', async () => {
    const writer = await newStore(join(scratchDirectory(), 'b.duckdb'));
    await expect(runReadOnly(writer, 'SELECT 1')).rejects.toThrow(/opened for reading/);
    await writer.close();
  });
});

describe('streamReadOnly', () => {
  it('gives rows one by one, errors of later rows included, and lets two run at once', async () => {
    const first = await streamReadOnly(store, 'SELECT i, i * 2 AS twice FROM range(100000) AS rows(i)');
    const second = await streamReadOnly(
      store,
      `SELECT CASE WHEN i = 2000000 THEN error('late' || i) ELSE i END FROM range(3000000) AS rows(i)`,
    );
    expect(first.columns.map((column) => column.name)).toEqual(['i', 'twice']);
    let count = 0;
    for await (const [i, twice] of first.rows) {
      if (twice !== 2 * Number(i) || i !== count) expect([i, twice]).toEqual([count, 2 * count]);
      count += 1;
      if (count === 5) expect((await second.rows.next()).value).toEqual([0]);
    }
    expect(count).toBe(100_000);
    const remainingRows = async () => {
      for await (const [i] of second.rows) if (Number(i) >= 2_000_000) throw new Error('went on after the error');
    };
    await expect(remainingRows()).rejects.toMatchObject({
      code: 'MBF1006',
      message: 'Invalid Input Error: late2000000',
    });
  });
});

/** Stores that another hand changed: refused, or answered as if they had not been; nothing that they define runs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore, type StoreMode } from '../../src/store/open-store.js';
import { runReadOnly } from '../../src/store/read-only-sql.js';
import { newStore } from '../support/new-store.js';
import { onDuckDB, refusal } from './duckdb.js';
import { scratchDirectory } from './scratch.js';

const RUN = { run_id: 1, name: 'one', root_path: '/', created_at: new Date(0), touched_at: new Date(0) };

/** A store with a run, on which statements then ran that are not ours. */
async function changed(...statements: readonly string[]): Promise<string> {
  const file = join(scratchDirectory(), 'a.duckdb');
  const store = await newStore(file);
  await store.insertRows('run', [RUN]);
  await store.close();
  await onDuckDB(file, ...statements);
  return file;
}

const MODES: readonly StoreMode[] = ['read', 'write'];
/** In 1.5.6 it aborts the process. */
const ACTING = "enable_logging(storage := 'file', storage_config := {'path': 'log'})";

describe('a store whose tables are not ours', () => {
  it.each([
    ['a view that acts', 'ALTER TABLE run RENAME TO moved', `CREATE VIEW run AS FROM moved, ${ACTING}`],
    ['a view without an end', 'DROP TABLE run', 'CREATE VIEW run AS FROM range(1000000000000000) AS r(run_id)'],
    ['no table', 'DROP TABLE run'],
    ['a column of another type', 'ALTER TABLE run ALTER name TYPE INTEGER USING 1'],
    ['a column that may be NULL', 'ALTER TABLE run ALTER name DROP NOT NULL'],
    ['a column more', 'ALTER TABLE run ADD COLUMN further INTEGER'],
    ['a column less', 'ALTER TABLE run DROP COLUMN label'],
    ['a default', 'ALTER TABLE run ALTER label SET DEFAULT random()::VARCHAR'],
    ['an index', 'CREATE UNIQUE INDEX one_name ON run(name)'],
    ['a key', 'ALTER TABLE run ADD PRIMARY KEY (run_id)'],
    ['columns that are computed', 'DROP TABLE run', 'CREATE TABLE run (run_id INTEGER, name VARCHAR AS (1::VARCHAR))'],
  ])('with %s in place of one of them', async (_, ...statements) => {
    const file = await changed(...statements);
    for (const mode of MODES) {
      const error = await refusal(openStore(file, { mode }));
      expect([error.code, error.kind]).toEqual(['MBF3007', 'store']);
      expect(error.describe()).toMatch(/a\.duckdb: not as schema version \d+ makes it: table run$/);
    }
  });

  it('with a type that has further values', async () => {
    const file = await changed('DROP TABLE host_event', "CREATE TYPE other AS ENUM ('alloc')");
    await onDuckDB(file, 'CREATE TABLE host_event (snapshot_id INTEGER, seq INTEGER, "action" other)');
    expect((await refusal(openStore(file, { mode: 'read' }))).message).toMatch(/table host_event$/);
  });

  it('whose version table is a view', async () => {
    const file = await changed(
      'ALTER TABLE mbforensics_schema RENAME TO moved',
      `CREATE VIEW mbforensics_schema AS SELECT moved.* FROM moved, ${ACTING}`,
    );
    for (const mode of MODES) expect((await refusal(openStore(file, { mode }))).code).toBe('MBF3004');
  });
});

describe('macros and views of a stranger', () => {
  const SHADOWS = [
    'CREATE MACRO count(x) AS 42',
    'CREATE MACRO "+"(a, b) AS 7',
    "CREATE MACRO lower(x) AS 'theirs'",
    'CREATE MACRO duckdb_tables() AS TABLE SELECT 1 AS theirs',
    "CREATE OR REPLACE VIEW attempt AS SELECT 1 AS run_id, 9 AS attempt, 'theirs' AS origin, 0::BIGINT AS time_us",
  ];

  it('are not called by queries that read', async () => {
    const store = await openStore(await changed(...SHADOWS), { mode: 'read' });
    expect(await store.select("SELECT count(1) AS n, 1 + 1 AS sum, lower('A') AS low FROM run")).toEqual([
      { n: 1, sum: 2, low: 'a' },
    ]);
    expect((await store.all('log.attempts', { run_id: 1 })).map(({ origin }) => origin)).toEqual(['assumed']);
    // On connections of their own.
    const { rows } = await runReadOnly(store, "SELECT count(1), 1 + 1, lower('A') FROM run");
    expect(rows).toEqual([[1, 2, 'a']]);
    await store.close();
  });

  it.each(SHADOWS.slice(0, -1))('are refused before a store is written: %s', async (sql) => {
    const file = await changed(sql);
    const error = await refusal(openStore(file, { mode: 'write' }));
    expect(error.code).toBe('MBF3007');
    expect(error.message).toMatch(/^a macro has the name of the function /);
  });

  it('are refused where a table takes the name of one of ours', async () => {
    const file = await changed('DROP VIEW cause_rule', 'CREATE TABLE cause_rule (i INTEGER)');
    expect((await refusal(openStore(file, { mode: 'write' }))).message).toBe(
      'a table has the name of the view cause_rule',
    );
    await (await openStore(file, { mode: 'read' })).close();
  });

  it('are read by a statement of the user, except where they act', async () => {
    const readable = ['CREATE VIEW mine AS SELECT name FROM run', 'CREATE MACRO shout(x) AS upper(x)'];
    const store = await openStore(await changed(...readable), { mode: 'read' });
    expect((await runReadOnly(store, 'SELECT shout(name) FROM mine')).rows).toEqual([['ONE']]);
    await store.close();
    for (const sql of [`CREATE VIEW theirs AS FROM ${ACTING}`, `CREATE MACRO theirs() AS TABLE FROM ${ACTING}`]) {
      const opened = await openStore(await changed(...readable, sql), { mode: 'read' });
      const error = await refusal(runReadOnly(opened, 'SELECT 1'));
      expect(error.describe()).toMatch(/a\.duckdb: its (view|macro) theirs calls enable_logging\(\)$/);
      await opened.close();
    }
    expect(existsSync('log')).toBe(false);
  });
});

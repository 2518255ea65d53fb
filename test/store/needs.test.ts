/** Queries that are not run while a table is empty: their answers are the same. */
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, expect, it } from 'vitest';
import { composeSql } from '../../src/store/compose-sql.js';
import { loadAllQueries, loadLibrary, loadQuery } from '../../src/store/load-queries.js';
import { openStore } from '../../src/store/open-store.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { repoRoot } from './scratch.js';

const cli = buildCli();
const file = join(temporaryDirectory(), 'store.duckdb');
const guarded = loadAllQueries().flatMap((query) => query.needs.map((table) => ({ query, table })));
const questions = guarded.filter(({ query }) => query.kind === undefined);
const objects = guarded.filter(({ query }) => query.kind !== undefined);

/** What they read is in none of these samples: a limit of a memory fraction, a trace of a leak, pinned memory. */
const PRINTED_RARELY: ReadonlySet<string> = new Set([
  'log.device_total',
  'log.doubtful_memory',
  'nsys.step_candidates',
  'replay.printed_limit',
  'verdict.kept',
  'snapshot.pinned_host_memory',
]);

beforeAll(() => {
  for (const sample of ['llama3-70b-fragmentation', 'other-process', 'nccl-outside'])
    cli.expect(0, ['ingest', join(repoRoot, 'samples', sample), '--db', file, '--quiet']);
});

it('a query has rows with the rows of a table it needs, and none without', async () => {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  const count = async (sql: string): Promise<number> => {
    const counts = [1, 2, 3].map(async (run) => {
      const text = sql
        .replaceAll('$run_ids', `'${run}'`)
        .replaceAll('$run_id', `${run}::INTEGER`)
        .replace(/\$\w+/g, 'NULL');
      return Number((await connection.runAndReadAll(`SELECT count(*) FROM (${text})`)).getRows()[0]![0]);
    });
    return (await Promise.all(counts)).reduce((sum, rows) => sum + rows, 0);
  };
  try {
    expect(questions.length).toBeGreaterThan(10);
    for (const { query, table } of questions) {
      const sql = composeSql(query);
      if (!PRINTED_RARELY.has(query.name)) expect(await count(sql), query.name).toBeGreaterThan(0);
      await connection.run('BEGIN TRANSACTION');
      await connection.run(`DELETE FROM ${table}`);
      expect(await count(sql), `${query.name} without ${table}`).toBe(0);
      await connection.run('ROLLBACK');
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
});

it('an object of the library is without rows where a table it needs is, and has the same columns', async () => {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  try {
    expect(objects.length).toBeGreaterThan(5);
    for (const { query, table } of objects) {
      const name = query.name.replace('library.', '');
      const values = query.params.map(({ type }) => (type === 'INTEGER' ? '1' : `NULL::${type}`));
      const statement = `SELECT * FROM ${name}${query.kind === 'macro' ? `(${values.join(', ')})` : ''}`;
      const asked = { ...query, name: 'test.asked', kind: undefined, needs: [], params: [], statement };
      const texts = [new Set<string>(), new Set([table])].map((empty) =>
        composeSql(asked, loadQuery, loadLibrary(), empty),
      );
      const columnsOf = async (sql: string) =>
        (await connection.runAndReadAll(`DESCRIBE ${sql}`)).getRows().map(([column, type]) => [column, type]);
      const [whole, short] = texts as [string, string];
      expect(short.length).toBeLessThan(whole.length);
      expect(await columnsOf(short), query.name).toEqual(await columnsOf(whole));
      await connection.run('BEGIN TRANSACTION');
      await connection.run(`DELETE FROM ${table}`);
      for (const sql of texts) expect((await connection.runAndReadAll(sql)).getRows(), query.name).toEqual([]);
      await connection.run('ROLLBACK');
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
});

it('what an earlier answer was computed from is asked again after a change, in the same store', async () => {
  const store = await openStore(join(temporaryDirectory(), 'changing.duckdb'), { mode: 'write' });
  const incident = async () => (await store.all('incident.list', { run_id: 1 })).length;
  const runs = async () => (await store.all('store.runs', { run_id: null })).map(({ incidents }) => incidents);
  try {
    await store.run(`INSERT INTO run (run_id, name, root_path, created_at, touched_at)
      VALUES (1, 'r', '/r', TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-01')`);
    await store.run(`INSERT INTO source (source_id, run_id, attempt, path, display_path, status, file_bytes, parser_version,
      ingested_at) VALUES (1, 1, 1, '/r/a', 'a', 'ingested', 1, 1, TIMESTAMP '2024-01-01')`);
    expect([await incident(), await runs()]).toEqual([0, [0]]);
    await store.run(
      `INSERT INTO incident (incident_id, source_id, kind, is_oom, line, last_line, byte_offset, grammar, text)
      VALUES (1, 1, 'cuda_oom', true, 1, 1, 0, 'g', 'x')`,
    );
    expect(await runs()).toEqual([1]);
    await store
      .transaction(async () => {
        await store.run('DELETE FROM incident');
        expect(await runs()).toEqual([0]);
        throw new Error('undone');
      })
      .catch(() => undefined);
    expect(await runs()).toEqual([1]);
    await store.shadow('incident');
    await store.run('DELETE FROM incident');
    expect(await runs()).toEqual([0]);
  } finally {
    await store.close();
  }
});

it('a store knows its empty tables, after changes too, and never in a transaction', async () => {
  const store = await openStore(join(temporaryDirectory(), 'new.duckdb'), { mode: 'write' });
  const phase = { source_id: 1, attempt: 1, line: 1, byte_offset: 0, phase: 'training', label: 'x', format: 'f' };
  try {
    expect(await store.isEmpty('log_phase')).toBe(true);
    await store.transaction(async () => {
      await store.insertRows('log_phase', [phase]);
      expect(await store.isEmpty('log_phase')).toBe(false);
    });
    expect(await store.isEmpty('log_phase')).toBe(false);
    expect(await store.isEmpty('log_memory')).toBe(true);
    await store.shadow('log_memory');
    expect(await store.isEmpty('log_memory')).toBe(false);
  } finally {
    await store.close();
  }
});

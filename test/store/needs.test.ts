/** Queries that are not run while a table is empty: their answers are the same. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { composeSql } from '../../src/store/compose-sql.js';
import { loadAllQueries, loadLibrary, loadQuery } from '../../src/store/load-queries.js';
import type { Store } from '../../src/store/store.js';
import { newStore } from '../support/new-store.js';
import { copyStore, samplePath } from '../support/stores.js';
import { type Run, withDuckDB } from './duckdb.js';
import { scratchDirectory } from './scratch.js';

const SAMPLES = ['llama3-70b-fragmentation', 'other-process', 'nccl-outside'].map(samplePath);
const guarded = loadAllQueries().flatMap((query) => query.needs.map((table) => ({ query, table })));
const questions = guarded.filter(({ query }) => query.kind === undefined);
const objects = guarded.filter(({ query }) => query.kind !== undefined);

/** Not in these samples, or named by a parameter: a memory fraction, a leak, pinned memory, the name of a process. */
const PRINTED_RARELY: ReadonlySet<string> = new Set([
  ...['log.device_total', 'log.doubtful_memory', 'nsys.step_candidates', 'replay.printed_limit', 'verdict.kept'],
  ...['snapshot.pinned_host_memory', 'incident.job_processes', 'log.memory_rises', 'log.printed_share'],
  'verdict.caught',
]);

/** The samples as three runs, and what a query gives while a table is empty. */
const onSamples = (
  work: (run: Run, without: <T>(table: string, ask: () => Promise<T>) => Promise<T>) => Promise<void>,
): Promise<void> =>
  withDuckDB(copyStore(join(scratchDirectory(), 'store.duckdb'), SAMPLES, ['--each']), (run) =>
    work(run, async (table, ask) => {
      await run('BEGIN TRANSACTION');
      await run(`DELETE FROM ${table}`);
      const answer = await ask();
      await run('ROLLBACK');
      return answer;
    }),
  );

it('a query has rows with the rows of a table it needs, and none without', () =>
  onSamples(async (run, without) => {
    const count = async (sql: string): Promise<number> => {
      const counts = [1, 2, 3].map(async (id) => {
        const text = sql
          .replaceAll('$run_ids', `'${id}'`)
          .replaceAll('$run_id', `${id}::INTEGER`)
          .replace(/\$\w+/g, 'NULL');
        return Number((await run(`SELECT count(*) AS n FROM (${text})`))[0]!['n']);
      });
      return (await Promise.all(counts)).reduce((sum, rows) => sum + rows, 0);
    };
    expect(questions.length).toBeGreaterThan(10);
    for (const { query, table } of questions) {
      const sql = composeSql(query);
      if (!PRINTED_RARELY.has(query.name)) expect(await count(sql), query.name).toBeGreaterThan(0);
      expect(await without(table, () => count(sql)), `${query.name} without ${table}`).toBe(0);
    }
  }));

it('an object of the library is without rows where a table it needs is, and has the same columns', () =>
  onSamples(async (run, without) => {
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
        (await run(`DESCRIBE ${sql}`)).map((row) => [row['column_name'], row['column_type']]);
      const [whole, short] = texts as [string, string];
      expect(short.length).toBeLessThan(whole.length);
      expect(await columnsOf(short), query.name).toEqual(await columnsOf(whole));
      for (const sql of texts) expect(await without(table, () => run(sql)), query.name).toEqual([]);
    }
  }));

async function withStore(work: (store: Store) => Promise<void>): Promise<void> {
  const store = await newStore(join(scratchDirectory(), 'new.duckdb'));
  await work(store).finally(() => store.close());
}

it('what an earlier answer was computed from is asked again after a change, in the same store', () =>
  withStore(async (store) => {
    const incident = async () => (await store.all('incident.list', { run_id: 1 })).length;
    const runs = async () => (await store.all('store.runs', { run_id: null })).map(({ incidents }) => incidents);
    const now = new Date(0);
    await store.insertRows('run', [{ run_id: 1, name: 'r', root_path: '/r', created_at: now, touched_at: now }]);
    const file = { path: '/r/a', display_path: 'a', status: 'ingested', file_bytes: 1, parser_version: 1 };
    await store.insertRows('source', [{ source_id: 1, run_id: 1, attempt: 1, ...file, ingested_at: now }]);
    expect([await incident(), await runs()]).toEqual([0, [0]]);
    const place = { line: 1, last_line: 1, byte_offset: 0, grammar: 'g', text: 'x' };
    await store.insertRows('incident', [{ incident_id: 1, source_id: 1, kind: 'cuda_oom', is_oom: true, ...place }]);
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
  }));

it('a store knows its empty tables, after changes too, and never in a transaction', () =>
  withStore(async (store) => {
    const phase = { source_id: 1, attempt: 1, line: 1, byte_offset: 0, phase: 'training', label: 'x', format: 'f' };
    expect(await store.isEmpty('log_phase')).toBe(true);
    await store.transaction(async () => {
      await store.insertRows('log_phase', [phase]);
      expect(await store.isEmpty('log_phase')).toBe(false);
    });
    expect(await store.isEmpty('log_phase')).toBe(false);
    expect(await store.isEmpty('log_memory')).toBe(true);
    await store.shadow('log_memory');
    expect(await store.isEmpty('log_memory')).toBe(false);
  }));

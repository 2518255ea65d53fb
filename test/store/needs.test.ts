/** Queries that are not run while a table is empty: their answers are the same. */
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, expect, it } from 'vitest';
import { composeSql } from '../../src/store/compose-sql.js';
import { loadAllQueries } from '../../src/store/load-queries.js';
import { openStore } from '../../src/store/open-store.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { repoRoot } from './scratch.js';

const cli = buildCli();
const file = join(temporaryDirectory(), 'store.duckdb');
const guarded = loadAllQueries().flatMap((query) => query.needs.map((table) => ({ query, table })));

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
    expect(guarded.length).toBeGreaterThan(10);
    for (const { query, table } of guarded) {
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

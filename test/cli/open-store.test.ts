/** What a killed ingest left out of a store is derived when a verb opens it, and comes out the same. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../src/cli/open-store.js';
import { onDuckDB, type Row, readDuckDB } from '../store/duckdb.js';
import { scratchDirectory } from '../store/scratch.js';
import { copyStore, samplePath } from '../support/stores.js';

const ANSWERS = ['label', 'labelled_device', 'oom_fact', 'oom_test', 'judged_run'].map(
  (table) => `FROM ${table} ORDER BY ALL`,
);
const LABELLED = 'SELECT block, label FROM block_life ORDER BY ALL';

it.each([
  ['read', 'labels', ['UPDATE block_life SET label = NULL', 'DELETE FROM label', 'DELETE FROM labelled_device']],
  ['write', 'facts of failures', ['DELETE FROM judged_run', 'DELETE FROM oom_fact', 'DELETE FROM oom_test']],
  [
    'read',
    'facts by other rules',
    ['UPDATE judged_run SET rules = rules - 1', 'UPDATE oom_fact SET request_bytes = 1'],
  ],
] as const)('opened to %s, a store gets its %s', async (mode, _, without) => {
  const db = copyStore(join(scratchDirectory(), 'store.duckdb'), samplePath('capacity'));
  const read = (): Promise<Row[][]> => readDuckDB(db, ...ANSWERS, LABELLED);
  const before = await read();
  for (const rows of before) expect(rows).not.toEqual([]);
  await onDuckDB(db, ...without);
  expect(await read()).not.toEqual(before);
  const store = await openStore(db, { mode });
  expect(store.mode).toBe(mode);
  await store.close();
  expect(await read()).toEqual(before);
});

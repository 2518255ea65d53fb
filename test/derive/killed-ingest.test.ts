/** What a killed ingest left out of a store is derived when a verb opens it, and comes out the same. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../src/cli/open-store.js';
import { STEPS } from '../../src/derive/derive.js';
import { diagnose } from '../../src/findings/flows/diagnose.js';
import { onDuckDB, type Row, readDuckDB } from '../store/duckdb.js';
import { scratchDirectory } from '../store/scratch.js';
import { copyStore, samplePath } from '../support/stores.js';

const TABLES = STEPS.flatMap(({ tables }) => tables).filter((table) => table !== 'block_label_staging');
const ANSWERS = TABLES.map((table) => `FROM ${table} ORDER BY ALL`);
const LABELLED = 'SELECT block, label FROM block_life ORDER BY ALL';

it.each([
  ['read', 'labels', ['UPDATE block_life SET label = NULL', 'DELETE FROM label', 'DELETE FROM labelled_device']],
  ['write', 'conclusions', TABLES.slice(2).map((table) => `DELETE FROM ${table}`)],
  [
    'read',
    'conclusions by other rules',
    ['UPDATE judged_run SET rules = rules - 1', "UPDATE verdict SET cause = 'host_oom'"],
  ],
] as const)('opened to %s, a store gets its %s', async (mode, _, without) => {
  const db = copyStore(join(scratchDirectory(), 'store.duckdb'), samplePath('leak'));
  const read = (): Promise<Row[][]> => readDuckDB(db, ...ANSWERS, LABELLED);
  const before = await read();
  for (const [i, table] of TABLES.entries()) expect(before[i], table).not.toEqual([]);
  await onDuckDB(db, ...without);
  expect(await read()).not.toEqual(before);
  const store = await openStore(db, { mode });
  expect(store.mode).toBe(mode);
  await store.close();
  expect(await read()).toEqual(before);
});

// Root writes read-only files, so that DuckDB's own lock is what keeps the file from being written.
it('a store that another process holds open is derived into TEMP tables, and stays as it was', async () => {
  const db = copyStore(join(scratchDirectory(), 'held.duckdb'), samplePath('leak'));
  const [expected] = await readDuckDB(db, 'SELECT * FROM verdict');
  await onDuckDB(db, "UPDATE verdict SET cause = 'host_oom'", "UPDATE mbforensics_library SET hash = 'other'");
  const before = readFileSync(db);
  const holder = spawn(process.execPath, [join(import.meta.dirname, '..', 'store', 'hold-open.mjs'), db], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    await once(holder.stdout, 'data');
    const store = await openStore(db, { mode: 'read' });
    expect(store.hasLibrary).toBe(false);
    expect(await store.select('FROM verdict')).toMatchObject([{ cause: expected![0]!['cause'] }]);
    expect((await diagnose(store, 1, 'leak')).verdicts[0]!.cause).toBe(expected![0]!['cause']);
    await store.close();
  } finally {
    holder.stdin.end();
    await once(holder, 'exit');
  }
  expect(readFileSync(db).equals(before)).toBe(true);
});

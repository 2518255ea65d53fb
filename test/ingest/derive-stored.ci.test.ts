/** Stores of older versions: what ingest derives now is derived when they are opened, and comes out the same. */
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/cli/open-store.js';
import { HISTORY_RULES } from '../../src/model/derived-tables.js';
import type { Store } from '../../src/store/store.js';
import { history, play } from '../allocator/history.js';
import { onDuckDB, withMigrations } from '../store/duckdb.js';
import { scratchDirectory } from '../store/scratch.js';
import { historyPickle } from '../support/history-pickle.js';
import { ingested } from '../support/new-store.js';
import { samplePath } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const DERIVED = 'derived_history block_life segment_life trace_step derived_bucket oom_state oom_hole'.split(' ');
/** Older stores lack lifetimes. */
const LAST_WITHOUT = 7;
/** Which that version lacks. */
const NEWER_COLUMNS = new Map([
  ['stack', 'site'],
  ['block', 'left_over_bytes'],
  ['incident', 'frames'],
]);

/** All that is derived, as text. */
async function derivedRows(store: Store): Promise<Record<string, unknown>> {
  const tables = DERIVED.map(async (table) => [table, await store.select(`SELECT * FROM ${table} ORDER BY ALL`)]);
  return Object.fromEntries(await Promise.all(tables));
}

/** A store as it is now, of snapshots with steps, with pools and pending frees, and one with a single entry. */
const now = join(temporaryDirectory(), 'now.duckdb');
let rows: Record<string, unknown>;

async function changed(...statements: readonly string[]): Promise<string> {
  const db = join(scratchDirectory(), 'changed.duckdb');
  copyFileSync(now, db);
  await onDuckDB(db, ...statements);
  return db;
}

/** What it holds once it was opened. */
async function opened<Result>(
  db: string,
  ask: (store: Store) => Promise<Result>,
  mode: 'read' | 'write' = 'read',
): Promise<Result> {
  const store = await openStore(db, { mode });
  expect(store.mode).toBe(mode);
  return ask(store).finally(() => store.close());
}

beforeAll(async () => {
  const directory = temporaryDirectory();
  const paths = fc.sample(history, { numRuns: 3, seed: 12 }).map((past, i) => {
    const path = join(directory, `snapshot_${i}.pickle`);
    const played = play(past, () => {});
    writeFileSync(path, historyPickle(played, past.conf, { maxEntries: i === 2 ? 1 : 60 }));
    return path;
  });
  const sample = join(samplePath('llama3-70b-fragmentation'), 'snapshot_oom_rank-0.pickle.gz');
  const { store } = await ingested(now, [sample, ...paths]);
  await store.close();
  const copy = join(directory, 'opened.duckdb');
  copyFileSync(now, copy);
  rows = await opened(copy, derivedRows);
  for (const table of DERIVED) expect(rows[table], table).not.toEqual([]);
});

describe('a store', () => {
  it.each(['read', 'write'] as const)('of older rules is derived again when opened (%s)', async (mode) => {
    const db = await changed(
      'UPDATE derived_history SET rules = rules - 1, peak_active_bytes = 1',
      'DELETE FROM block_life WHERE block % 2 = 0',
      'UPDATE segment_life SET total_bytes = 1',
      'DELETE FROM trace_step',
      'DELETE FROM derived_bucket WHERE snapshot_id = 1',
    );
    const ask = async (store: Store) => [
      await derivedRows(store),
      await store.all('history.underived', { rules: HISTORY_RULES }),
    ];
    expect(await opened(db, ask, mode)).toEqual([rows, []]);
  });

  it('whose deriving was interrupted is completed', async () => {
    const db = await changed(
      'DELETE FROM derived_history WHERE snapshot_id = 2',
      'DELETE FROM block_life WHERE snapshot_id = 2',
    );
    expect(await opened(db, derivedRows)).toEqual(rows);
  });

  it('of present rules is left as it is', async () => {
    const db = await changed('UPDATE derived_history SET peak_active_bytes = 1');
    const peaks = 'SELECT DISTINCT peak_active_bytes AS peak FROM derived_history';
    expect(await opened(db, (store) => store.select(peaks))).toEqual([{ peak: 1 }]);
  });

  it('of a version without lifetimes gets them', async () => {
    const old = join(scratchDirectory(), 'old.duckdb');
    await withMigrations(old, LAST_WITHOUT);
    const attach = `ATTACH '${now}' AS filled (READ_ONLY)`;
    const tables = 'SELECT database_name, table_name FROM duckdb_tables() WHERE NOT internal';
    const named = (await onDuckDB(old, attach, tables))[1]!;
    const tablesOf = (database: string): string[] =>
      named.filter((row) => row['database_name'] === database).map((row) => String(row['table_name']));
    const both = new Set(tablesOf('filled'));
    const shared = tablesOf('old').filter((name) => both.has(name) && !DERIVED.includes(name));
    expect(shared).toContain('event');
    const copies = shared
      .filter((table) => table !== 'mbforensics_schema')
      .map((table) => {
        const columns = NEWER_COLUMNS.has(table) ? `* EXCLUDE ${NEWER_COLUMNS.get(table)}` : '*';
        return `INSERT INTO old.${table} BY NAME SELECT ${columns} FROM filled.${table}`;
      });
    await onDuckDB(old, attach, ...copies);
    expect(await opened(old, derivedRows)).toEqual(rows);
  });
});

/** Stores of older versions: what ingest derives now is derived when they are opened, and comes out the same. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { openStore } from '../../src/cli/open-store.js';
import { ingest } from '../../src/ingest/ingest.js';
import { HISTORY_RULES } from '../../src/model/derived-tables.js';
import { migrate } from '../../src/store/migrate.js';
import { MIGRATIONS } from '../../src/store/migrations.js';
import type { Store } from '../../src/store/store.js';
import { history, play } from '../allocator/history.js';
import { historyPickle } from '../support/history-pickle.js';
import { newStore } from '../support/new-store.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const DERIVED = [
  'derived_history',
  'block_life',
  'segment_life',
  'trace_step',
  'derived_bucket',
  'oom_state',
  'oom_hole',
];
/** Older stores lack lifetimes. */
const LAST_WITHOUT = 7;
/** Which that version lacks. */
const NEWER_COLUMNS = new Map([
  ['stack', 'site'],
  ['block', 'left_over_bytes'],
]);

const SAMPLE = join(
  import.meta.dirname,
  '..',
  '..',
  'samples',
  'llama3-70b-fragmentation',
  'snapshot_oom_rank-0.pickle.gz',
);

/** All that is derived, as text. */
async function derivedRows(store: Store): Promise<Record<string, unknown>> {
  const tables = DERIVED.map(async (table) => [table, await store.select(`SELECT * FROM ${table} ORDER BY ALL`)]);
  return Object.fromEntries(await Promise.all(tables));
}

const directory = temporaryDirectory();
let files = 0;
let rows: Record<string, unknown>;
/** Snapshots with steps, with pools and pending frees, and one whose ring kept a single entry. */
let paths: string[];

async function ingested(): Promise<string> {
  const db = join(directory, `${files++}.duckdb`);
  const store = await newStore(db);
  await ingest({ store, parsers: PARSERS, paths, now: new Date(0) });
  await store.close();
  return db;
}

async function change(db: string, statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(db);
  const connection = await instance.connect();
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
}

beforeAll(async () => {
  const pasts = fc.sample(history, { numRuns: 3, seed: 12 });
  paths = [
    SAMPLE,
    ...pasts.map((past, i) => {
      const path = join(directory, `snapshot_${i}.pickle`);
      writeFileSync(
        path,
        historyPickle(
          play(past, () => {}),
          past.conf,
          { maxEntries: i === 2 ? 1 : 60 },
        ),
      );
      return path;
    }),
  ];
  const store = await openStore(await ingested(), { mode: 'read' });
  rows = await derivedRows(store);
  await store.close();
  for (const table of DERIVED) expect(rows[table], table).not.toEqual([]);
});

describe('a store', () => {
  it.each(['read', 'write'] as const)('of older rules is derived again when opened (%s)', async (mode) => {
    const db = await ingested();
    await change(db, [
      'UPDATE derived_history SET rules = rules - 1, peak_active_bytes = 1',
      'DELETE FROM block_life WHERE block % 2 = 0',
      'UPDATE segment_life SET total_bytes = 1',
      'DELETE FROM trace_step',
      'DELETE FROM derived_bucket WHERE snapshot_id = 1',
    ]);
    const store = await openStore(db, { mode });
    try {
      expect(store.mode).toBe(mode);
      expect(await derivedRows(store)).toEqual(rows);
      expect(await store.all('history.underived', { rules: HISTORY_RULES })).toEqual([]);
    } finally {
      await store.close();
    }
  });

  it('whose deriving was interrupted is completed', async () => {
    const db = await ingested();
    await change(db, [
      'DELETE FROM derived_history WHERE snapshot_id = 2',
      'DELETE FROM block_life WHERE snapshot_id = 2',
    ]);
    const store = await openStore(db, { mode: 'read' });
    expect(await derivedRows(store)).toEqual(rows);
    await store.close();
  });

  it('of present rules is left as it is', async () => {
    const db = await ingested();
    await change(db, ['UPDATE derived_history SET peak_active_bytes = 1']);
    const store = await openStore(db, { mode: 'read' });
    expect(await store.select('SELECT DISTINCT peak_active_bytes AS peak FROM derived_history')).toEqual([{ peak: 1 }]);
    await store.close();
  });

  it('of a version without lifetimes gets them', async () => {
    const old = join(directory, 'old.duckdb');
    const instance = await DuckDBInstance.create(old);
    const connection = await instance.connect();
    await migrate(
      connection,
      0,
      MIGRATIONS.filter(({ version }) => version <= LAST_WITHOUT),
    );
    await connection.run(`ATTACH '${await ingested()}' AS filled (READ_ONLY)`);
    const named = async (database: string) =>
      (
        await connection.runAndReadAll(
          `SELECT table_name FROM duckdb_tables() WHERE database_name = '${database}' AND NOT internal`,
        )
      )
        .getRows()
        .map(([name]) => String(name));
    const both = new Set(await named('filled'));
    const shared = (await named('old')).filter((name) => both.has(name) && !DERIVED.includes(name));
    expect(shared).toContain('event');
    for (const table of shared) {
      if (table === 'mbforensics_schema') continue;
      const columns = NEWER_COLUMNS.has(table) ? `* EXCLUDE ${NEWER_COLUMNS.get(table)}` : '*';
      await connection.run(`INSERT INTO old.${table} BY NAME SELECT ${columns} FROM filled.${table}`);
    }
    connection.closeSync();
    instance.closeSync();
    const store = await openStore(old, { mode: 'read' });
    expect(await derivedRows(store)).toEqual(rows);
    await store.close();
  });
});

/** Damaged exports of Nsight Systems, one after the other into one store that began with a good one. */
import { afterAll, beforeAll, expect } from 'vitest';
import { NSYS_LAYOUTS } from '../../../src/model/nsys-rows.js';
import type { IngestSource } from '../../../src/model/results/common.js';
import { type Bench, expectSound, type Outcome, openBench } from '../../robustness/harness.js';

export interface NsysBench {
  bench(): Bench;
  /** Rows of the last source of the store. */
  latest(columns: string, table: string, where?: string): Promise<Record<string, unknown>[]>;
  /** Rows by table, as the store counted them. */
  kept(source: IngestSource): Promise<Map<string, number>>;
}

/** A store for the tests of a file. After them, a good file must still be read in full, and every row has an owner. */
export function nsysBench(good: Buffer): NsysBench {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    const { source } = await bench.take('good.sqlite', good);
    expect(source).toMatchObject({ status: 'ingested', notes: [] });
  });
  afterAll(async () => {
    await expectSound(bench.store);
    const tables = Object.values(NSYS_LAYOUTS).map(({ table }) => table);
    const small = ['nsys_report', 'nsys_table', 'nsys_text', 'nsys_thread', 'nsys_process', 'nsys_option', 'log_env'];
    const ingested = "SELECT source_id FROM source WHERE status = 'ingested'";
    for (const table of [...small, ...tables])
      expect([table, await count(table, `source_id NOT IN (${ingested})`)]).toEqual([table, 0]);
    const again = await bench.take('again.sqlite', good);
    const first = 'source_id = (SELECT min(source_id) FROM source)';
    for (const table of tables) expect([table, added(again, table)]).toEqual([table, await count(table, first)]);
    await bench.close();
  });
  const count = async (table: string, where: string): Promise<number> => {
    const [row] = await bench.store.select(`SELECT count(*) AS n FROM ${table} WHERE ${where}`);
    return Number(row!['n']);
  };
  return {
    bench: () => bench,
    latest: (columns, table, where = 'true') =>
      bench.store.select(
        `SELECT ${columns} FROM ${table} WHERE source_id = (SELECT max(source_id) FROM source) AND ${where}`,
      ),
    async kept({ run, path }) {
      const rows = await bench.store.select(
        'SELECT t.name, row_count FROM nsys_table AS t JOIN source USING (source_id) JOIN run USING (run_id) WHERE run.name = $run AND display_path = $path',
        { run, path },
      );
      return new Map(rows.map((row) => [String(row['name']), Number(row['row_count'])]));
    },
  };
}

/** Rows that a file brought. */
export const added = ({ before, after }: Pick<Outcome, 'before' | 'after'>, table: string): number =>
  after[table]! - before[table]!;

export const damagedTables = ({ notes }: IngestSource): string[] =>
  notes.flatMap(({ kind, text }) =>
    kind === 'nsys_table_damaged' ? [/^the table (\S+) is damaged/.exec(text)?.[1] ?? '(list)'] : [],
  );

export function expectPlainNotes({ notes }: IngestSource): void {
  for (const { text } of notes) expect(text).not.toMatch(/\n|undefined|NaN|\[object/);
}

export function expectIngested({ status, error }: IngestSource): void {
  expect(status, error?.text).toBe('ingested');
}

export function expectFailed({ status, error }: IngestSource, code: string): void {
  expect([status, error?.code]).toEqual(['failed', code]);
}

/** Resident and transient: the macro `lifetimes_at` against cases by hand and against the whole rule. */
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeTables } from '../../../src/store/schema.js';
import { SEED } from '../../support/level.js';
import { withLibrary } from '../../support/library-sql.js';

const BEFORE = null;
const NEVER = null;
const LATE = 2 ** 31 - 1;

/** µs; null = before the recording, or not freed in the trace. The sequence of entries is that of the times. */
interface Life {
  readonly allocated: number | null;
  readonly freed: number | null;
}

interface Moment {
  readonly time: number;
  readonly boundaries: readonly number[];
  readonly ringTruncated?: boolean;
  /** Something else is freed after the moment. */
  readonly othersFreed?: boolean;
}

let lifetimesOf: (lives: readonly Life[], moment: Moment) => Promise<(string | null)[]>;

beforeAll(async () => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await makeTables(connection);
  const tables = [
    'snapshot',
    'snapshot_action',
    'ingest_note',
    'trace_entry',
    'derived_history',
    'trace_step',
    'block_life',
  ];
  const names = await connection.runAndReadAll(
    'SELECT column_name, table_name FROM duckdb_columns() WHERE NOT is_nullable',
  );
  const required = names.getRows() as [string, string][];
  /** What the macro does not read is 0. */
  const insert = async (table: string, row: Readonly<Record<string, string | number | null>>): Promise<void> => {
    const unread = required.filter(([column, of]) => of === table && !(column in row)).map(([column]) => column);
    const values = Object.values(row).map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
    await connection.run(
      `INSERT INTO ${table} (${[...Object.keys(row), ...unread]}) VALUES (${[...values, ...unread.map(() => '0')]})`,
    );
  };
  const id = { snapshot_id: 1, device: 0 };
  lifetimesOf = async (lives, { time, boundaries, ringTruncated = false, othersFreed = true }) => {
    for (const table of tables) await connection.run(`DELETE FROM ${table}`);
    await insert('snapshot', { snapshot_id: 1, source_id: 1 });
    if (ringTruncated) await insert('ingest_note', { source_id: 1, kind: 'ring_truncated', device: 0 });
    await insert('snapshot_action', { ...id, action: 'free_completed' });
    await insert('derived_history', { ...id, steps_origin: boundaries.length > 0 ? 'optimizer_step' : null });
    for (const [ordinal, end_us] of boundaries.entries()) await insert('trace_step', { ...id, ordinal, end_us });
    await insert('trace_entry', { ...id, seq: time, time_us: time, action: 'alloc' });
    const frees = [...lives.map(({ freed }) => freed), othersFreed ? time + 1 : null];
    for (const at of frees)
      if (at !== null) await insert('trace_entry', { ...id, seq: at, time_us: at, action: 'free_completed' });
    for (const [block, { allocated, freed }] of lives.entries()) {
      const ends = { to_seq: freed ?? LATE, pending_seq: freed ?? LATE, free_us: freed };
      const begins = { from_seq: allocated ?? -1, alloc_us: allocated };
      await insert('block_life', { ...id, block, excess_bytes: 1, ...begins, ...ends });
    }
    const rows = await connection.runAndReadAll(
      withLibrary(`SELECT lifetime FROM lifetimes_at(1, 0, ${time}) ORDER BY block`),
    );
    return rows.getRows().map(([lifetime]) => lifetime as string | null);
  };
});

describe('resident and transient', () => {
  it.each([
    ['made and freed in the step', 210, 290, 250, 'transient'],
    ['made and freed before any boundary', 10, 90, 50, 'transient'],
    ['made before the step, freed in it, no whole step old', 150, 290, 250, 'transient'],
    ['alive through the whole step before', 90, 290, 250, 'resident'],
    ['alive when the step ends', 210, 310, 250, 'resident'],
    ['never freed', 210, NEVER, 250, 'resident'],
    ['freed at the very end', 210, 300, 250, 'resident'],
    ['from before the recording, freed before any boundary', BEFORE, 90, 50, 'unknown'],
    ['from before the recording, alive through a step', BEFORE, 290, 250, 'resident'],
    ['made and freed after the last boundary', 310, 330, 320, 'transient'],
    ['made after the last boundary, not freed', 310, NEVER, 320, 'unknown'],
    ['made before the last boundary, not freed', 290, NEVER, 320, 'resident'],
    ['from before the recording, never freed', BEFORE, NEVER, 320, 'resident'],
  ])('with steps: %s', async (_what, allocated, freed, time, expected) => {
    expect(await lifetimesOf([{ allocated, freed }], { time, boundaries: [100, 200, 300] })).toEqual([expected]);
  });

  it.each([
    ['freed in the trace', 0, 5, false, true, 'transient'],
    ['older than a truncated ring, freed', BEFORE, 5, true, true, 'unknown'],
    ['older than the recording, freed', BEFORE, 5, false, true, 'transient'],
    ['not freed while others are', 0, NEVER, false, true, 'resident'],
    ['not freed where nothing is', 0, NEVER, false, false, 'unknown'],
    ['older than the recording, not freed', BEFORE, NEVER, true, false, 'resident'],
  ])('without steps: %s', async (_what, allocated, freed, ringTruncated, othersFreed, expected) => {
    const moment = { time: 1, boundaries: [], ringTruncated, othersFreed };
    expect(await lifetimesOf([{ allocated, freed }], moment)).toEqual([expected]);
  });

  it('follow the rule over all boundaries', async () => {
    const time = fc.integer({ min: 0, max: 60 });
    const life = fc.record({ allocated: fc.option(time), freed: fc.option(time) });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(time, { minLength: 1, maxLength: 6 }),
        time,
        fc.array(life, { maxLength: 20 }),
        async (marks, now, drawn) => {
          const lives = drawn.filter(
            ({ allocated, freed }) => (allocated ?? -1) <= now && (freed === null || freed > now),
          );
          const boundaries = marks.toSorted((a, b) => a - b);
          expect(await lifetimesOf(lives, { time: now, boundaries })).toEqual(
            lives.map((one) => ruleOf(one, now, boundaries)),
          );
        },
      ),
      { numRuns: 60, seed: SEED },
    );
  });
});

/** The rule as `lifetimes_at` documents it, over all boundaries instead of the four next to the moment. */
function ruleOf({ allocated, freed }: Life, time: number, boundaries: readonly number[]): string {
  const from = allocated ?? Number.NEGATIVE_INFINITY;
  const to = freed ?? Number.POSITIVE_INFINITY;
  if (boundaries.filter((boundary) => boundary >= from && boundary <= to).length >= 2) return 'resident';
  const end = boundaries.find((boundary) => boundary > time);
  if (freed !== null && (end === undefined || freed < end)) return allocated === null ? 'unknown' : 'transient';
  if (end !== undefined) return 'resident';
  const start = boundaries.findLast((boundary) => boundary <= time) ?? Number.NEGATIVE_INFINITY;
  return allocated === null || allocated < start ? 'resident' : 'unknown';
}

/**
 * The account of a device adds up at every moment: live, pending and free memory, by pool, are the reserved memory.
 * Histories come from the allocator model, which knows its own totals and peaks.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import type { Store } from '../../src/store/store.js';
import { history, type Played, play } from '../allocator/history.js';
import { historyPickle } from '../support/history-pickle.js';
import { runs, SEED } from '../support/level.js';
import { withLibrary } from '../support/library-sql.js';
import { newStore } from '../support/new-store.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const directory = temporaryDirectory();
let store: Store;
let snapshots = 0;
beforeAll(async () => {
  store = await newStore(join(directory, 'moments.duckdb'), { threads: 1 });
});
afterAll(() => store.close());

/** Ingests a dump of the played history; its trace keeps the last entries. */
async function ingested(played: Played, conf: string, maxEntries: number): Promise<number> {
  const path = join(directory, `snapshot_${snapshots++}.pickle`);
  writeFileSync(path, historyPickle(played, conf, { maxEntries }));
  await ingest({ store, parsers: PARSERS, paths: [path], now: new Date(0) });
  rmSync(path);
  const [row] = await store.select('SELECT max(snapshot_id) AS id FROM snapshot');
  return Number(row!['id']);
}

/**
 * A row per moment and pool, from the lifetimes alone: the gaps between live blocks by a window, without `free_at`. A
 * block outside all segments, or of two, and blocks that overlap show as different sums or as a negative gap.
 */
const ACCOUNT = `
  WITH moment AS (SELECT unnest(range(-1, $entries))::INTEGER AS seq),
  segment AS (
    SELECT seq, address::HUGEINT AS address, total_bytes, pool, segment_type, stream
    FROM segment_life JOIN moment ON from_seq <= seq AND to_seq > seq WHERE snapshot_id = $id AND device = 0),
  live AS (
    SELECT seq, address::HUGEINT AS address, actual_bytes, pending_seq <= seq AS pending
    FROM block_life JOIN moment ON from_seq <= seq AND to_seq > seq WHERE snapshot_id = $id AND device = 0),
  placed AS (
    SELECT segment.seq, segment.address AS segment_address, segment.pool, live.address, live.actual_bytes, live.pending
    FROM segment JOIN live ON live.seq = segment.seq AND live.address >= segment.address
      AND live.address < segment.address + segment.total_bytes),
  edge AS (
    SELECT seq, segment_address, pool, address AS from_address, address + actual_bytes AS to_address FROM placed
    UNION ALL SELECT seq, address, pool, address, address FROM segment
    UNION ALL SELECT seq, address, pool, address + total_bytes, address + total_bytes FROM segment),
  gap AS (
    SELECT seq, pool, lead(from_address) OVER (PARTITION BY seq, segment_address ORDER BY from_address, to_address) - to_address AS bytes
    FROM edge),
  part AS (
    SELECT seq, pool, total_bytes AS reserved, 0 AS allocated, 0 AS pending, 0 AS free, 0 AS overlap FROM segment
    UNION ALL SELECT seq, pool, 0, CASE WHEN pending THEN 0 ELSE actual_bytes END, CASE WHEN pending THEN actual_bytes ELSE 0 END, 0, 0
    FROM placed
    UNION ALL SELECT seq, pool, 0, 0, 0, greatest(bytes, 0), least(bytes, 0) FROM gap WHERE bytes IS NOT NULL)
  SELECT seq, pool, sum(reserved)::DOUBLE AS reserved, sum(allocated)::DOUBLE AS allocated, sum(pending)::DOUBLE AS pending,
    sum(free)::DOUBLE AS free, sum(overlap)::DOUBLE AS overlap, (SELECT count(*) FROM live) AS live, (SELECT count(*) FROM placed) AS placed
  FROM part GROUP BY seq, pool ORDER BY seq, pool NULLS FIRST`;

interface Part {
  readonly seq: number;
  readonly pool: number | null;
  readonly reserved: number;
  readonly allocated: number;
  readonly pending: number;
  readonly free: number;
}

type Totals = Omit<Part, 'seq' | 'pool'>;

const NOTHING: Totals = { reserved: 0, allocated: 0, pending: 0, free: 0 };

function sumOf(parts: readonly Totals[]): Totals {
  return parts.reduce(
    (sum, part) => ({
      reserved: sum.reserved + part.reserved,
      allocated: sum.allocated + part.allocated,
      pending: sum.pending + part.pending,
      free: sum.free + part.free,
    }),
    NOTHING,
  );
}

/** The parts of each moment; index 0 is before the first entry. */
async function accountsOf(id: number, entries: number): Promise<Part[][]> {
  const accounts = Array.from({ length: entries + 1 }, (): Part[] => []);
  for (const row of await store.select(ACCOUNT, { id, entries })) {
    const { overlap, live, placed, ...part } = row as unknown as Part & Record<'overlap' | 'live' | 'placed', unknown>;
    // A negative zero too.
    expect(Number(overlap) + 0, `blocks that overlap after entry ${part.seq}`).toBe(0);
    expect(live).toBe(placed);
    expect(part.allocated + part.pending + part.free, `pool ${part.pool} after entry ${part.seq}`).toBe(part.reserved);
    accounts[part.seq + 1]!.push(part);
  }
  return accounts;
}

const single = async (
  statement: string,
  params: Readonly<Record<string, number>>,
): Promise<Record<string, unknown>> => {
  const rows = await store.select(withLibrary(statement), params);
  expect(rows).toHaveLength(1);
  return rows[0]!;
};

/** The same moment by the macros of the library. */
async function expectSameByMacros(id: number, seq: number, parts: readonly Part[]): Promise<void> {
  const at = `(${id}, 0, ${seq})`;
  const { reserved, allocated, pending, free } = sumOf(parts);
  expect(
    await single(
      `SELECT
        (SELECT coalesce(sum(total_bytes), 0)::DOUBLE FROM segments_at${at} AS segment) AS reserved,
        (SELECT coalesce(sum(actual_bytes) FILTER (state = 'active_allocated'), 0)::DOUBLE FROM live_at${at} AS live) AS allocated,
        (SELECT coalesce(sum(actual_bytes) FILTER (state = 'active_pending_free'), 0)::DOUBLE FROM live_at${at} AS live) AS pending,
        (SELECT coalesce(sum(bytes), 0)::DOUBLE FROM free_at${at} AS hole) AS free,
        (SELECT coalesce(sum(bytes), 0)::DOUBLE FROM components_at${at} AS component) AS by_component`,
      {},
    ),
  ).toEqual({ reserved, allocated, pending, free, by_component: allocated + pending });
  const pools = await store.select(
    withLibrary(
      `SELECT pool, sum(reserved_bytes)::DOUBLE AS reserved, sum(live_bytes)::DOUBLE AS live, sum(free_bytes)::DOUBLE AS free
       FROM pools_at${at} AS pools GROUP BY pool ORDER BY pool NULLS FIRST`,
    ),
  );
  expect(pools).toEqual(
    parts.map((part) => ({
      pool: part.pool,
      reserved: part.reserved,
      live: part.allocated + part.pending,
      free: part.free,
    })),
  );
}

/** Peaks of the views against the account's, and the totals at each moment. */
async function expectSamePeaks(id: number, totals: readonly Totals[]): Promise<{ active: number; reserved: number }> {
  const active = totals.map(({ allocated, pending }) => allocated + pending);
  const peak = Math.max(...active);
  const reserved = Math.max(...totals.map((total) => total.reserved));
  expect(
    await single(
      `SELECT peak_active_bytes::DOUBLE AS active, peak_reserved_bytes::DOUBLE AS reserved, coalesce(peak_active_seq, -1) AS seq,
        (SELECT sum(bytes)::DOUBLE FROM peak_component WHERE snapshot_id = $id) AS by_component,
        (SELECT sum(bytes)::DOUBLE FROM peak_site WHERE snapshot_id = $id) AS by_site
       FROM derived_history WHERE snapshot_id = $id`,
      { id },
    ),
  ).toEqual({
    active: peak,
    reserved,
    seq: active.indexOf(peak) - 1,
    by_component: peak === 0 ? null : peak,
    by_site: peak === 0 ? null : peak,
  });
  const course = new Map<number, Record<string, unknown>>();
  for (const { seq, ...row } of await store.select(
    withLibrary(`SELECT seq, allocated_bytes::DOUBLE AS allocated, active_bytes::DOUBLE AS active, reserved_bytes::DOUBLE AS reserved
      FROM totals_between($id::INTEGER, 0, -1, $last::INTEGER) AS total ORDER BY seq`),
    { id, last: totals.length - 2 },
  ))
    course.set(Number(seq), row);
  let held: Record<string, unknown> = { allocated: 0, active: 0, reserved: 0 };
  totals.forEach((total, i) => {
    held = course.get(i - 1) ?? held;
    expect(held, `totals after entry ${i - 1}`).toEqual({
      allocated: total.allocated,
      active: active[i],
      reserved: total.reserved,
    });
  });
  return { active: peak, reserved };
}

describe('the account of generated histories', () => {
  it('adds up at every moment, and its peaks are the model’s', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat(), fc.nat(), async (past, cut, pick) => {
        const played = play(past, () => {});
        const recorded = played.trace.length;
        // Half of the traces are whole.
        const entries = cut % 2 === 0 ? recorded : cut % (recorded + 1);
        const id = await ingested(played, past.conf, entries);
        const accounts = await accountsOf(id, entries);
        const totals = accounts.map(sumOf);
        const { statistics } = played.allocator;
        expect(totals.at(-1)).toMatchObject({
          reserved: statistics.reservedBytes.current,
          allocated: statistics.allocatedBytes.current,
          pending: statistics.activeBytes.current - statistics.allocatedBytes.current,
        });
        const peaks = await expectSamePeaks(id, totals);
        if (entries === recorded)
          expect(peaks).toEqual({ active: statistics.activeBytes.peak, reserved: statistics.reservedBytes.peak });
        for (const moment of [pick, pick * 7 + 1, entries])
          await expectSameByMacros(id, (moment % (entries + 1)) - 1, accounts[moment % (entries + 1)]!);
      }),
      { numRuns: runs(25, 150), seed: SEED },
    );
  });
});

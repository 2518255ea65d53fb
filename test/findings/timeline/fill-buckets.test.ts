/** Rows of `derived_bucket` of ingested snapshots, and the marks next to them. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { PARSERS } from '../../../parsers/index.js';
import { ensureBuckets } from '../../../src/findings/timeline/fill-buckets.js';
import { ingest } from '../../../src/ingest/ingest.js';
import { MIB } from '../../../src/model/units.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { scratchDirectory } from '../../store/scratch.js';
import { newStore } from '../../support/new-store.js';
import { BASE, type SmallEntry, type SmallSnapshot, smallSnapshot } from '../../support/small-snapshot.js';
import { addTrace, emptyStore, SNAPSHOT } from '../trace/trace-store.js';

let store: Store;
afterEach(() => store.close());

/** Read-only, as verbs have it. */
async function stored(spec: SmallSnapshot): Promise<Store> {
  const directory = scratchDirectory();
  const file = join(directory, 'snapshot_0.pickle');
  writeFileSync(file, smallSnapshot(spec));
  const db = join(directory, 'store.duckdb');
  const writing = await newStore(db);
  await ingest({ store: writing, parsers: PARSERS, paths: [file], now: new Date(0) });
  await writing.close();
  return openStore(db, { mode: 'read' });
}

const rowsOf = (from: Store) =>
  from.select(
    'SELECT first_seq, last_seq, allocated_min_bytes, allocated_max_bytes, active_min_bytes, active_max_bytes, reserved_min_bytes, reserved_max_bytes FROM derived_bucket ORDER BY first_seq',
  );

const A = BASE;
const B = BASE + 4 * MIB;
/**
 * One segment of 20 MiB that holds a block of 4 MiB at its start; the trace made it, and another that came and went.
 */
const ENTRIES: readonly SmallEntry[] = [
  { action: 'segment_alloc', addr: BASE, size: 20 * MIB },
  { action: 'alloc', addr: A, size: 4 * MIB },
  { action: 'alloc', addr: B, size: 6 * MIB - 100 },
  { action: 'free_requested', addr: B, size: 6 * MIB - 100 },
  { action: 'free_completed', addr: B, size: 6 * MIB - 100 },
];
const SPEC: SmallSnapshot = {
  segments: [[{ size: 4 * MIB }, { size: 16 * MIB, state: 'inactive' }]],
  entries: ENTRIES,
};

describe('rows of the timeline', () => {
  it('hold the state after each entry, in true sizes', async () => {
    store = await stored(SPEC);
    expect(await ensureBuckets(store, 1, 0)).toMatchObject({ entriesPerRow: 1, holds: true });
    const flat = (seq: number, allocated: number, active: number) => ({
      first_seq: seq,
      last_seq: seq,
      allocated_min_bytes: allocated * MIB,
      allocated_max_bytes: allocated * MIB,
      active_min_bytes: active * MIB,
      active_max_bytes: active * MIB,
      reserved_min_bytes: 20 * MIB,
      reserved_max_bytes: 20 * MIB,
    });
    expect(await rowsOf(store)).toEqual([
      // With the state before the first entry.
      { ...flat(0, 0, 0), reserved_min_bytes: 0 },
      flat(1, 4, 4),
      flat(2, 10, 10),
      flat(3, 4, 10),
      flat(4, 4, 4),
    ]);
  });

  it('cover a range only where one is asked for, and the whole again after it', async () => {
    store = await stored(SPEC);
    await ensureBuckets(store, 1, 0, { firstSeq: 2, lastSeq: 3 });
    expect(
      (await rowsOf(store)).map((row) => [row['first_seq'], row['active_min_bytes'], row['active_max_bytes']]),
    ).toEqual([
      // The first row of a range includes what was before it.
      [2, 4 * MIB, 10 * MIB],
      [3, 10 * MIB, 10 * MIB],
    ]);
    await ensureBuckets(store, 1, 0);
    expect(await rowsOf(store)).toHaveLength(5);
  });

  it('summarise two to the k entries where there are more than 65,536, cut where asked', async () => {
    const count = 139_998;
    store = await stored({
      segments: [[{ size: 20 * MIB, state: 'inactive' }]],
      entries: Array.from({ length: count }, (_, i) => ({
        action: i % 3 === 0 ? 'alloc' : i % 3 === 1 ? 'free_requested' : 'free_completed',
        addr: BASE,
        size: i >= 70_002 && i < 70_005 ? 8 * MIB : 2 * MIB,
      })),
    });
    expect(await ensureBuckets(store, 1, 0)).toMatchObject({ entriesPerRow: 4, holds: true });
    const complete = await rowsOf(store);
    expect(complete).toHaveLength(Math.ceil(139_998 / 4));
    expect(
      complete.every((row, i) => row['first_seq'] === i * 4 && row['last_seq'] === Math.min(i * 4 + 3, 139_997)),
    ).toBe(true);
    const highest = complete.filter((row) => row['active_max_bytes'] === 8 * MIB);
    expect(highest.map((row) => row['first_seq'])).toEqual([70_000]);
    await ensureBuckets(store, 1, 0, { firstSeq: 0, lastSeq: 139_997, cuts: [70_001, 70_002] });
    const near = (await rowsOf(store)).filter(
      (row) => Number(row['first_seq']) >= 70_000 && Number(row['last_seq']) <= 70_003,
    );
    expect(near.map((row) => [row['first_seq'], row['last_seq']])).toEqual([
      [70_000, 70_001],
      [70_002, 70_002],
      [70_003, 70_003],
    ]);
  });
});

describe('marks of the timeline', () => {
  it('are flushes as runs, failures and snapshots as points', async () => {
    store = await emptyStore();
    const free = (size: number): { action: string; size: number } => ({ action: 'segment_free', size });
    await addTrace(store, 0, [
      free(10),
      free(20),
      { action: 'alloc' },
      { action: 'segment_unmap', size: 5 },
      { action: 'oom', size: 99 },
      free(7),
      { action: 'snapshot' },
    ]);
    await store.insertRows('trace_oom', [
      { snapshot_id: SNAPSHOT, device: 0, seq: 4, requested_bytes: 99, device_free_bytes: null },
    ]);
    const id = { snapshot_id: SNAPSHOT, device: 0 };
    const all = await store.all('timeline.flushes', { ...id, from_seq: 0, to_seq: 6, most: 10 });
    expect(all.map((row) => [row.first_seq, row.last_seq, row.segments, row.bytes, row.time_us])).toEqual([
      [0, 1, 2, 30, 0],
      [3, 3, 1, 5, 3000],
      [5, 5, 1, 7, 5000],
    ]);
    expect(all.every((row) => row.flush_count === 3 && row.flush_bytes === 42)).toBe(true);
    const two = await store.all('timeline.flushes', { ...id, from_seq: 0, to_seq: 6, most: 2 });
    expect(two.map((row) => [row.first_seq, row.flush_count])).toEqual([
      [0, 3],
      [5, 3],
    ]);
    expect(await store.all('timeline.points', { ...id, from_seq: 0, to_seq: 6 })).toEqual([
      { seq: 4, action: 'oom', time_us: 4000, requested_bytes: 99, device_free_bytes: null },
      { seq: 6, action: 'snapshot', time_us: 6000, requested_bytes: null, device_free_bytes: null },
    ]);
    expect(await store.all('timeline.points', { ...id, from_seq: 5, to_seq: 5 })).toEqual([]);
  });
});

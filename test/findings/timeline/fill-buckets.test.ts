/** Rows of `derived_bucket` of ingested snapshots, and the marks next to them. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ensureBuckets } from '../../../src/findings/timeline/fill-buckets.js';
import { MIB } from '../../../src/model/units.js';
import type { Store } from '../../../src/store/store.js';
import { scratchDirectory } from '../../store/scratch.js';
import { ingested } from '../../support/new-store.js';
import { BASE, type SmallEntry, type SmallSnapshot, smallSnapshot } from '../../support/small-snapshot.js';
import { addTrace, emptyStore, SNAPSHOT } from '../trace/trace-store.js';

let store: Store;
afterEach(() => store.close());

/** Read-only, as verbs have it. */
async function stored(spec: SmallSnapshot): Promise<Store> {
  const directory = scratchDirectory();
  const file = join(directory, 'snapshot_0.pickle');
  writeFileSync(file, smallSnapshot(spec));
  return (await ingested(join(directory, 'store.duckdb'), [file])).store;
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

/** Of a trace of so many entries. */
const allEntries = (entries: number, ...cuts: number[]) => ({ firstSeq: 0, lastSeq: entries - 1, cuts });

/** One address, again and again in 2 MiB, and once in 8 MiB. */
const repeated = (count: number): SmallSnapshot => ({
  segments: [[{ size: 20 * MIB, state: 'inactive' }]],
  entries: Array.from({ length: count }, (_, i) => ({
    action: i % 3 === 0 ? 'alloc' : i % 3 === 1 ? 'free_requested' : 'free_completed',
    addr: BASE,
    size: i >= 70_002 && i < 70_005 ? 8 * MIB : 2 * MIB,
  })),
});

describe('rows of the timeline', () => {
  it('hold the state after each entry, in true sizes', async () => {
    store = await stored(SPEC);
    expect(await ensureBuckets(store, 1, 0, allEntries(5))).toMatchObject({ entriesPerRow: 1, holds: true });
    const flat = (seq: number, allocated: number, active: number) => ({
      ...{ first_seq: seq, last_seq: seq, reserved_min_bytes: 20 * MIB, reserved_max_bytes: 20 * MIB },
      ...{ allocated_min_bytes: allocated * MIB, allocated_max_bytes: allocated * MIB },
      ...{ active_min_bytes: active * MIB, active_max_bytes: active * MIB },
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
    await ensureBuckets(store, 1, 0, { firstSeq: 2, lastSeq: 3, cuts: [] });
    const rows = await rowsOf(store);
    expect(rows.map((row) => [row['first_seq'], row['active_min_bytes'], row['active_max_bytes']])).toEqual([
      // The first row of a range includes what was before it.
      [2, 4 * MIB, 10 * MIB],
      [3, 10 * MIB, 10 * MIB],
    ]);
    await ensureBuckets(store, 1, 0, allEntries(5));
    expect(await rowsOf(store)).toHaveLength(5);
  });

  it('summarise two to the k entries where there are more than 65,536, cut where asked', async () => {
    const count = 139_998;
    store = await stored(repeated(count));
    expect(await ensureBuckets(store, 1, 0, allEntries(count))).toMatchObject({ entriesPerRow: 4, holds: true });
    const complete = await rowsOf(store);
    expect(complete).toHaveLength(Math.ceil(139_998 / 4));
    const ends = complete.map((row) => `${row['first_seq']}-${row['last_seq']}`);
    expect(ends).toEqual(complete.map((_, i) => `${i * 4}-${Math.min(i * 4 + 3, 139_997)}`));
    const highest = complete.filter((row) => row['active_max_bytes'] === 8 * MIB);
    expect(highest.map((row) => row['first_seq'])).toEqual([70_000]);
    await ensureBuckets(store, 1, 0, allEntries(count, 70_001, 70_002));
    const near = (await rowsOf(store)).filter((row) => /^7000[0-3]$/.test(String(row['first_seq'])));
    const cut = near.map((row) => `${row['first_seq']}-${row['last_seq']}`);
    expect(cut).toEqual(['70000-70001', '70002-70002', '70003-70003']);
  });

  it.each([
    [5, 1],
    [262_144, 4],
    [262_146, 64],
  ])('are 64 entries each in the store: of %i entries, %i a row are shown', async (count, shown) => {
    store = await stored(repeated(count));
    const coarse = await rowsOf(store);
    expect(coarse.map((row) => [row['first_seq'], row['last_seq']])).toEqual(
      Array.from({ length: Math.ceil(count / 64) }, (_, i) => [i * 64, Math.min(i * 64 + 63, count - 1)]),
    );
    expect(await ensureBuckets(store, 1, 0, allEntries(count))).toMatchObject({ entriesPerRow: shown });
    const finer = await store.select(
      `SELECT min(first_seq) AS first_seq, max(last_seq) AS last_seq,
         ${['allocated', 'active', 'reserved'].map((total) => `min(${total}_min_bytes) AS ${total}_min_bytes, max(${total}_max_bytes) AS ${total}_max_bytes`).join()}
       FROM derived_bucket GROUP BY first_seq // 64 ORDER BY 1`,
    );
    expect(finer).toEqual(coarse);
  });
});

describe('marks of the timeline', () => {
  it('are flushes as runs, failures and snapshots as points', async () => {
    store = await emptyStore();
    const id = { snapshot_id: SNAPSHOT, device: 0 };
    const entries = 'segment_free 10, segment_free 20, alloc, segment_unmap 5, oom 99, segment_free 7, snapshot';
    const entry = ([action = '', size = '512']: string[]) => ({ action, size: Number(size) });
    await addTrace(
      store,
      0,
      entries.split(', ').map((text) => entry(text.split(' '))),
    );
    await store.insertRows('trace_oom', [{ ...id, seq: 4, requested_bytes: 99, device_free_bytes: null }]);
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

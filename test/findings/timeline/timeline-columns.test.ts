/** Downsampling in the real engine: whatever the width, least and most survive. */
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { SEED } from '../../support/level.js';
import { addBuckets, type Bucket, emptyStore, SNAPSHOT } from '../trace/trace-store.js';

const ID = { snapshot_id: SNAPSHOT, device: 0 };
let store: Store;

afterEach(() => store.close());

/** Rows of the same number of entries, each somewhere between two levels, at uneven times. */
const series = fc
  .record({
    width: fc.constantFrom(1, 2, 8),
    rows: fc.array(
      fc.record({
        low: fc.integer({ min: 0, max: 1000 }),
        rise: fc.integer({ min: 0, max: 1000 }),
        pending: fc.integer({ min: 0, max: 50 }),
        unused: fc.integer({ min: 0, max: 500 }),
        pauseUs: fc.constantFrom(0, 1, 40, 100_000),
      }),
      { minLength: 1, maxLength: 120 },
    ),
  })
  .map(({ width, rows }): Bucket[] => {
    let time = 1_700_000_000_000_000;
    return rows.map(({ low, rise, pending, unused, pauseUs }, i) => {
      time += pauseUs;
      return {
        ...{ first_seq: i * width, last_seq: (i + 1) * width - 1, first_time_us: time, last_time_us: time },
        allocated: [low, low + rise],
        active: [low, low + rise + pending],
        reserved: [low + unused, low + rise + pending + unused],
      };
    });
  });

const most = (values: readonly number[]): number => Math.max(...values);
const least = (values: readonly number[]): number => Math.min(...values);

describe('columns of the timeline', () => {
  it.each(['timeline.columns_by_index', 'timeline.columns_by_time'] as const)(
    '%s keeps every maximum, minimum and spike',
    async (query) => {
      store = await emptyStore();
      await fc.assert(
        fc.asyncProperty(series, fc.integer({ min: 1, max: 150 }), async (rows, columns) => {
          await store.run('DELETE FROM derived_bucket');
          await addBuckets(store, 0, rows);
          // Another device must not leak in.
          await addBuckets(store, 1, [{ first_seq: 0, last_seq: 99_999, active: [0, 9999] }]);
          const slices = await store.all(query, { ...ID, columns });
          const count = query === 'timeline.columns_by_time' ? columns : Math.min(columns, rows.length);
          expect(slices[0]!.column_count).toBe(count);
          for (const name of ['allocated', 'active', 'reserved'] as const) {
            const highs = rows.map((row) => row[name]![1]);
            const lows = rows.map((row) => row[name]![0]);
            expect(most(slices.map((slice) => slice[`${name}_max_bytes`]))).toBe(most(highs));
            expect(least(slices.map((slice) => slice[`${name}_min_bytes`]))).toBe(least(lows));
          }
          // Each row is in exactly one slice, and that slice spans it.
          const filled = slices.filter((slice) => slice.first_seq !== null);
          let next = 0;
          for (const slice of filled) {
            expect(slice.first_seq).toBe(next);
            const mine = rows.filter((row) => row.first_seq >= slice.first_seq! && row.last_seq <= slice.last_seq!);
            expect(slice.active_max_bytes).toBe(most(mine.map((row) => row.active[1])));
            expect(slice.active_min_bytes).toBe(least(mine.map((row) => row.active[0])));
            next = slice.last_seq! + 1;
          }
          expect(next).toBe(rows.at(-1)!.last_seq + 1);
          expect(slices.every((slice, i) => i === 0 || slice.column > slices[i - 1]!.column)).toBe(true);
          // By time no slice is missing; what has no entry holds the last row before it.
          if (query === 'timeline.columns_by_time') {
            expect(slices.map((slice) => slice.column)).toEqual(Array.from({ length: columns }, (_, i) => i));
            slices.forEach((slice, i) => {
              if (slice.first_seq !== null) return;
              const before = slices.slice(0, i).findLast((other) => other.last_seq !== null)!;
              const held = rows.find((row) => row.last_seq === before.last_seq)!;
              expect([slice.active_min_bytes, slice.active_max_bytes]).toEqual(held.active);
            });
          }
        }),
        { numRuns: 60, seed: SEED },
      );
    },
  );

  it('divides entries equally, and times equally', async () => {
    store = await emptyStore();
    const at = [0, 1, 2, 3, 4, 5, 6, 999];
    const rows = at.map((time, seq): Bucket => {
      return { first_seq: seq, last_seq: seq, first_time_us: time, last_time_us: time, active: [seq, seq] };
    });
    await addBuckets(store, 0, rows);
    const byIndex = await store.all('timeline.columns_by_index', { ...ID, columns: 4 });
    expect(byIndex.map((slice) => `${slice.first_seq}-${slice.last_seq}`)).toEqual(['0-1', '2-3', '4-5', '6-7']);
    const byTime = await store.all('timeline.columns_by_time', { ...ID, columns: 4 });
    expect(byTime.map((slice) => [slice.first_seq, slice.last_seq, slice.active_max_bytes])).toEqual([
      [0, 6, 6],
      [null, null, 6],
      [null, null, 6],
      [7, 7, 7],
    ]);
  });

  it('has no columns by time where an entry has no time', async () => {
    store = await emptyStore();
    await addBuckets(store, 0, [
      { first_seq: 0, last_seq: 0, active: [1, 1] },
      { first_seq: 1, last_seq: 1, first_time_us: null, last_time_us: null, active: [1, 1] },
    ]);
    expect(await store.all('timeline.columns_by_time', { ...ID, columns: 4 })).toEqual([]);
    expect(await store.all('timeline.columns_by_index', { ...ID, columns: 4 })).toHaveLength(2);
  });

  it('names the first row that reaches a maximum, however often it comes again', async () => {
    store = await emptyStore();
    const active = [3, 9, 9, 1, 9];
    await addBuckets(
      store,
      0,
      active.map((bytes, i) => ({ first_seq: 2 * i, last_seq: 2 * i + 1, active: [0, bytes], reserved: [10, 10] })),
    );
    expect(await store.one('timeline.extremes', ID)).toMatchObject({
      ...{ first_seq: 0, last_seq: 9, entries_per_row: 2, reserved_max_bytes: 10, reserved_max_first_seq: 0 },
      ...{ active_max_bytes: 9, active_max_first_seq: 2, active_max_last_seq: 3, active_max_time_us: 2000 },
    });
    expect(await store.one('timeline.extremes', { ...ID, device: 7 })).toBeUndefined();
  });
});

/** Order and trend of a series, as pure functions. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { orderSnapshots, type Placed } from '../../../src/findings/snapshots/order.js';
import { seriesTrend, trendTolerance } from '../../../src/findings/snapshots/trend.js';
import { GIB, MIB } from '../../../src/model/units.js';

const placed = (display_path: string, changes: Partial<Placed> = {}): Placed => ({
  ...{ display_path, attempt: 1, step: null, last_time_us: null, annotation_time_us: null, ...changes },
});
const names = (rows: readonly Placed[]): string[] => orderSnapshots(rows).rows.map((row) => row.display_path);

describe('the order of a series', () => {
  it('is by the last traced time, or that of the last annotation', () => {
    const rows = [
      placed('a', { last_time_us: 30, step: 1 }),
      placed('b', { annotation_time_us: 20, step: 2 }),
      placed('c', { last_time_us: 10, annotation_time_us: 99, step: 3 }),
    ];
    expect(orderSnapshots(rows).order).toBe('time');
    expect(names(rows)).toEqual(['c', 'b', 'a']);
  });

  it('is by step where a time is missing anywhere, within a launch', () => {
    const rows = [
      placed('a', { step: 100, last_time_us: 5 }),
      placed('b', { step: 20 }),
      placed('c', { step: 3, attempt: 2, last_time_us: 1 }),
    ];
    expect(orderSnapshots(rows).order).toBe('step');
    expect(names(rows)).toEqual(['b', 'a', 'c']);
  });

  it('is by name else, with its numbers as numbers', () => {
    const rows = [placed('dump10'), placed('dump9', { step: 4 }), placed('dump1', { last_time_us: 3 })];
    expect(orderSnapshots(rows).order).toBe('name');
    expect(names(rows)).toEqual(['dump1', 'dump9', 'dump10']);
  });

  it('does not depend on the order it is given in, and loses nothing', () => {
    const row = fc.record({
      display_path: fc.stringMatching(/^[a-c]{1,2}\d{0,2}$/),
      attempt: fc.integer({ min: 1, max: 2 }),
      step: fc.option(fc.integer({ min: 0, max: 5 })),
      last_time_us: fc.option(fc.integer({ min: 0, max: 5 })),
      annotation_time_us: fc.option(fc.integer({ min: 0, max: 5 })),
    });
    fc.assert(
      fc.property(fc.uniqueArray(row, { selector: (one) => one.display_path, maxLength: 12 }), (rows) => {
        const first = orderSnapshots(rows);
        const second = orderSnapshots([...rows].reverse());
        expect(second).toEqual(first);
        expect(new Set(first.rows)).toEqual(new Set(rows));
      }),
    );
  });
});

describe('the trend', () => {
  const gib = (...values: number[]): number[] => values.map((value) => value * GIB);

  it.each([
    ['growing', gib(10, 10.5, 11, 11.5, 12)],
    ['growing', gib(10, 11, 13, 16)],
    ['settling', gib(10, 20, 24, 25)],
    ['plateau', gib(10, 30, 40, 40, 40)],
    ['plateau', gib(10, 30, 30)],
    ['steady', gib(40, 40.001, 40, 40.002)],
    ['falling', gib(40, 30, 20)],
    ['varied', gib(40, 30, 50, 20)],
    ['varied', gib(10, 20, 30, 12, 12)],
    ['too_few', gib(1, 2)],
    ['too_few', []],
  ] as const)('%s', (trend, bytes) => expect(seriesTrend(bytes)).toBe(trend));

  it('sees a leak that is small every time and not in the end', () => {
    const slow = Array.from({ length: 50 }, (_, i) => 40 * GIB + i * 8 * MIB);
    expect(trendTolerance(slow)).toBeGreaterThan(8 * MIB);
    expect(seriesTrend(slow)).toBe('growing');
    expect(seriesTrend([...slow].reverse())).toBe('falling');
    expect(seriesTrend(slow.slice(0, 3))).toBe('steady');
  });

  it('growing means that no dump is below the one before', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 80 * 1024 }), { minLength: 3, maxLength: 9 }), (mib) => {
        const bytes = mib.map((value) => value * MIB);
        const trend = seriesTrend(bytes);
        const rises = bytes.slice(1).every((value, i) => value > bytes[i]!);
        if (trend === 'growing' || trend === 'settling') expect(rises).toBe(true);
        const turned = seriesTrend(bytes.map((value) => 80 * GIB - value));
        if (trend === 'falling') expect(turned).not.toBe('falling');
      }),
    );
  });
});

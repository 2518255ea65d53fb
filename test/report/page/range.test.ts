import { describe, expect, it } from 'vitest';
import { panned, showing, zoomed } from '../../../src/report/page/range.js';
import { createShared } from '../../../src/report/page/view-state.js';
import { randomOf } from './synthetic-device.js';

/** Places grow with the square of the entry: unlike entries in width. */
const scale = { valueOf: (seq: number) => seq * seq, seqOf: (value: number) => Math.sqrt(value) };
const bounds = { first: 0, end: 1000, least: 8 };

describe('visible range', () => {
  it('keeps the place of the pointer while it zooms', () => {
    const before = { from: 300, to: 800 };
    const place = ({ from, to }: typeof before, at: number): number =>
      (at * at - from * from) / (to * to - from * from);
    for (const at of [350, 500, 790]) {
      const after = zoomed(scale, bounds, before, at, 0.5);
      expect(after.to ** 2 - after.from ** 2).toBeCloseTo((800 ** 2 - 300 ** 2) / 2, 3);
      expect(place(after, at)).toBeCloseTo(place(before, at), 9);
    }
  });

  it('stays inside the bounds, never smaller than the least, whatever is done', () => {
    const random = randomOf(3);
    let range = { from: 0, to: 1000 };
    for (let i = 0; i < 2000; i += 1) {
      const at = range.from + random() * (range.to - range.from);
      range =
        random() < 0.5
          ? zoomed(scale, bounds, range, at, random() < 0.6 ? 0.6 : 1.7)
          : random() < 0.5
            ? panned(scale, bounds, range, random() * 4 - 2)
            : showing(scale, bounds, range, Math.floor(random() * 1000));
      expect(range.from).toBeGreaterThanOrEqual(0);
      expect(range.to).toBeLessThanOrEqual(1000);
      expect(range.to).toBeGreaterThan(range.from);
    }
    for (let i = 0; i < 50; i += 1) range = zoomed(scale, bounds, range, range.from, 0.5);
    expect(range.to - range.from).toBeGreaterThan(1);
    for (let i = 0; i < 50; i += 1) range = zoomed(scale, bounds, range, range.from, 2);
    expect(range).toEqual({ from: 0, to: 1000 });
  });

  it('moves to a place outside of it, and only then', () => {
    const range = { from: 100, to: 200 };
    expect(showing(scale, bounds, range, 150)).toEqual(range);
    const moved = showing(scale, bounds, range, 500);
    expect(moved.from).toBeLessThan(500);
    expect(moved.to).toBeGreaterThan(500);
    expect(moved.to ** 2 - moved.from ** 2).toBeCloseTo(200 ** 2 - 100 ** 2, 3);
  });
});

describe('createShared', () => {
  it('draws once per frame, and not at all if nothing differs', () => {
    const frames: (() => void)[] = [];
    const initial = { device: 0, from: 0, to: 10, axis: 'entry' as const, cursor: 3, stack: null };
    const shared = createShared(initial, (draw) => frames.push(draw));
    const drawn: [number, number][] = [];
    shared.subscribe((state, before) => drawn.push([state.cursor, before.cursor]));
    shared.set({ cursor: 3 });
    expect(frames).toHaveLength(0);
    shared.set({ cursor: 4 });
    shared.set({ cursor: 5 });
    expect(shared.get().cursor).toBe(5);
    expect(frames).toHaveLength(1);
    frames[0]!();
    expect(drawn).toEqual([[5, 3]]);
    shared.set({ cursor: 6 });
    shared.set({ cursor: 5 });
    frames[1]!();
    expect(drawn).toHaveLength(1);
  });
});

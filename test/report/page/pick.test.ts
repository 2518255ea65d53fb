import { describe, expect, it } from 'vitest';
import { courseOf } from '../../../src/model/picture/levels.js';
import { levelsFor } from '../../../src/report/page/levels-for.js';
import { highestEntry, newPicks, pickColumns } from '../../../src/report/page/pick.js';
import { bucketState, stateAt } from '../../../src/report/page/state-at.js';
import type { Loaded } from '../../../src/report/page/view-state.js';
import { randomOf, syntheticDevice } from './synthetic-device.js';

const recorded = syntheticDevice({ seed: 11, layers: 10, steps: 5, limitBytes: 9 * 1024 ** 3, expandable: false });
const { page } = recorded;
const lastSeq = page.lastSeq;

/** With coarse levels: the whole trace, and two windows that overlap. */
function coarse(allBlocks: number): Loaded {
  const ranges = [
    { from: 0, to: lastSeq, columns: 97 },
    { from: Math.floor(lastSeq * 0.5), to: Math.floor(lastSeq * 0.8), columns: 211 },
    { from: Math.floor(lastSeq * 0.7), to: lastSeq, columns: 150 },
  ];
  const levels = courseOf(recorded.columns.blocks, recorded.columns.segments, page.components.length, page)(ranges);
  return {
    page: { ...page, allBlocks, wholeRanges: [] },
    columns: {
      ...recorded.columns,
      levels: levels.map((level) => ({ ...level, name: '', startUs: new Float64Array(0) })),
    },
  };
}

/** After each entry, by another way than the levels: all blocks, one by one. */
const active = Float64Array.from({ length: lastSeq + 1 }, (_, seq) => {
  const { blocks } = recorded.columns;
  let sum = 0;
  for (let i = 0; i < blocks.count; i += 1) if (blocks.from[i]! <= seq && seq < blocks.to[i]!) sum += blocks.bytes[i]!;
  return sum;
});

const views = (): { from: number; to: number; width: number }[] => {
  const random = randomOf(5);
  return Array.from({ length: 60 }, () => {
    const from = random() * (lastSeq - 20);
    return { from, to: from + 2 + random() ** 3 * (lastSeq - from - 2), width: 1 + Math.floor(random() * 700) };
  });
};

describe.each([
  ['levels of the page only', coarse(page.allBlocks + 1)],
  ['levels computed from blocks', coarse(page.allBlocks)],
])('pixels from %s', (_name, loaded) => {
  it('are states that existed, with the highest one of the view', () => {
    for (const { from, to, width } of views()) {
      const levels = levelsFor(loaded, from, to, width);
      const picks = newPicks(width);
      pickColumns(levels, (x) => from + x * (to - from), picks);
      let most = 0;
      for (let x = 0; x < width; x += 1) {
        const state = bucketState(levels[picks.level[x]!]!, picks.column[x]!);
        const seq = Math.max(0, state.at);
        if (state.at >= 0) expect(state.active).toBe(active[seq]);
        expect(state.components.reduce((sum, bytes) => sum + bytes, 0)).toBe(state.active);
        // The bucket holds or touches the pixel.
        expect(state.from).toBeLessThan(from + ((x + 1) / width) * (to - from));
        expect(state.to + 1).toBeGreaterThan(from + (x / width) * (to - from));
        most = Math.max(most, state.active);
      }
      const visible = active.subarray(Math.floor(from), Math.ceil(to));
      expect(most).toBeGreaterThanOrEqual(Math.max(...visible));
    }
  });
});

const LAST = 599;

/** Some blocks live before the trace, some are freed by its first entry; with a short one of many bytes at `spike`. */
function tiny(spike: number, ranges: readonly { from: number; to: number; columns: number }[]): Loaded {
  const random = randomOf(spike + 1);
  const rows = Array.from({ length: 300 }, (_, i) => {
    const from = i < 30 ? -1 : Math.floor(random() * LAST);
    const to = i < 10 ? 0 : from + 1 + Math.floor(random() * 80);
    return { from, to, bytes: 512 * (1 + Math.floor(random() * 8)) };
  });
  rows.push({ from: spike, to: spike + 1, bytes: 512 * 100_000 });
  const count = rows.length;
  const blocks = {
    ...recorded.columns.blocks,
    count,
    from: Int32Array.from(rows, ({ from }) => from),
    to: Int32Array.from(rows, ({ to }) => to),
    pending: Int32Array.from(rows, ({ to }) => to),
    bytes: Float64Array.from(rows, ({ bytes }) => bytes),
    component: new Uint8Array(count),
    isPrivate: new Uint8Array(count),
  };
  const segments = { ...recorded.columns.segments, count: 0 };
  const trace = { firstSeq: 0, lastSeq: LAST };
  const levels = courseOf(blocks, segments, 1, trace)(ranges);
  return {
    page: { ...page, ...trace, components: ['parameter'], blocks: count, allBlocks: count + 1, wholeRanges: [] },
    columns: {
      ...recorded.columns,
      blocks,
      segments,
      levels: levels.map((one) => ({ ...one, name: '', startUs: new Float64Array(0) })),
    },
  };
}

describe('a state of one entry that is higher than all others', () => {
  it('is seen wherever it is, also where one level ends and another begins', () => {
    const ranges = [
      { from: 0, to: LAST, columns: 23 },
      { from: 200, to: 399, columns: 50 },
      { from: 380, to: 450, columns: 71 },
    ];
    for (let spike = 0; spike <= LAST; spike += 1) {
      const loaded = tiny(spike, ranges);
      for (const width of [7, 31, 160]) {
        const picks = newPicks(width);
        const levels = levelsFor(loaded, 0, LAST + 1, width);
        pickColumns(levels, (x) => x * (LAST + 1), picks);
        const shown = Array.from(picks.level, (level, x) => levels[level]!.at[picks.column[x]!]!);
        expect(shown, `spike ${spike}, width ${width}`).toContain(spike);
      }
    }
  });
});

describe('levelsFor', () => {
  it('computes what a level of all blocks would have', () => {
    const loaded = tiny(77, [{ from: 0, to: LAST, columns: 5 }]);
    const { blocks, segments } = loaded.columns;
    const trace = { firstSeq: 0, lastSeq: LAST };
    for (let from = 0; from < 60; from += 1) {
      const part = {
        ...loaded,
        columns: { ...loaded.columns },
        page: { ...loaded.page, segments: 0, allSegments: 0, wholeRanges: [{ from, to: from + 90 }] },
      };
      const range = { from, to: from + 90, columns: 91 };
      expect(levelsFor(part, from + 20, from + 60, 500)[0]).toEqual(courseOf(blocks, segments, 1, trace)([range])[0]);
    }
  });

  it('computes single entries where the page holds every block, and nothing where it does not', () => {
    const [from, to] = [1000, 1200];
    const picks = newPicks(800);
    pickColumns(levelsFor(coarse(page.allBlocks), from, to, 800), (x) => from + x * (to - from), picks);
    expect(picks.longestEntries).toBe(1);
    pickColumns(levelsFor(coarse(page.allBlocks + 1), from, to, 800), (x) => from + x * (to - from), picks);
    expect(picks.longest).toBeGreaterThan(2);
    expect(picks.longestEntries).toBeGreaterThan(10);
  });

  it('is limited to ranges of which every block is there', () => {
    const loaded = coarse(page.allBlocks + 1);
    const part = { ...loaded, page: { ...loaded.page, wholeRanges: [{ from: 900, to: 1300 }] } };
    const exact = levelsFor(part, 1000, 1200, 800)[0]!;
    expect([exact.from, exact.to, exact.columns]).toEqual([900, 1300, 401]);
    for (let i = 0; i < 401; i += 1) expect(exact.active[i]).toBe(active[900 + i]);
  });
});

describe('stateAt', () => {
  it('is exact with every block, and else the bucket with its entries', () => {
    const exact = stateAt(coarse(page.allBlocks), 1234)!;
    expect([exact.from, exact.to, exact.active]).toEqual([1234, 1234, active[1234]]);
    const bucket = stateAt(coarse(page.allBlocks + 1), 1234)!;
    expect(bucket.from).toBeLessThanOrEqual(1234);
    expect(bucket.to).toBeGreaterThan(1234);
    expect(bucket.active).toBe(active[bucket.at]);
    expect(stateAt(coarse(page.allBlocks + 1), lastSeq + 1)).toBeNull();
  });
});

describe('highestEntry', () => {
  it('is an entry of the pixel', () => {
    const levels = coarse(page.allBlocks + 1).columns.levels;
    for (const { from } of views()) {
      const entry = highestEntry(levels, from, from + 3);
      expect(entry).toBeGreaterThanOrEqual(Math.floor(from));
      expect(entry).toBeLessThan(from + 3);
    }
  });
});

import { describe, expect, it } from 'vitest';
import type { DeviceColumns, PageDevice } from '../../../src/model/picture/page-data.js';
import { isWholeAt, liveAt, nearestWhole } from '../../../src/report/page/live-at.js';
import { orderByAscending } from '../../../src/report/page/order-by.js';
import { cheapestRun, enlarged, largestFor, requestNear } from '../../../src/report/page/segments/free-to-fit.js';
import { holesAt } from '../../../src/report/page/segments/holes-at.js';
import { randomOf, syntheticDevice } from './synthetic-device.js';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const OPTIONS = { seed: 7, layers: 8, steps: 12, limitBytes: 5.5 * GIB, expandable: false };
const cudaMalloc = syntheticDevice(OPTIONS);
const expandable = syntheticDevice({ ...OPTIONS, expandable: true });

/** Live blocks of small device: `[place, MiB]` in one segment of `segmentMib`. */
function tiny(
  blocks: readonly (readonly [place: number, mib: number])[],
  segmentMib: number,
  change: { readonly isExpandable?: boolean; readonly isPrivate?: boolean; readonly page?: Partial<PageDevice> } = {},
): { page: PageDevice; columns: DeviceColumns } {
  const { page, columns } = cudaMalloc;
  const all = <T extends Int32Array | Float64Array | Uint8Array>(column: T, value: number, count: number): T =>
    column.slice(0, count).fill(value) as T;
  const flag = (is: boolean | undefined): Uint8Array => Uint8Array.of(is === true ? 1 : 0);
  const count = blocks.length;
  return {
    page: { ...page, ...change.page },
    columns: {
      ...columns,
      blocks: {
        ...{ count, from: all(columns.blocks.from, 0, count), to: all(columns.blocks.to, 9, count) },
        ...{ pending: all(columns.blocks.pending, 9, count), component: all(columns.blocks.component, 0, count) },
        ...{ isPrivate: all(columns.blocks.isPrivate, 0, count), stack: all(columns.blocks.stack, 0, count) },
        bytes: Float64Array.from(blocks, ([, mib]) => mib * MIB),
        place: Float64Array.from(blocks, ([place]) => place * MIB),
      },
      segments: {
        ...{ count: 1, from: Int32Array.of(0), to: Int32Array.of(99), bytes: Float64Array.of(segmentMib * MIB) },
        ...{ isPrivate: flag(change.isPrivate), isExpandable: flag(change.isExpandable), isSmall: flag(false) },
        ...{ place: Float64Array.of(0), stream: Float64Array.of(0) },
      },
    },
  };
}

describe('orderByAscending', () => {
  it('equals a stable sort by comparison', () => {
    const random = randomOf(3);
    const values = Float64Array.from({ length: 3000 }, (_, i) => (i % 7 === 0 ? 512 : Math.floor(random() * 2 ** 45)));
    const expected = Array.from(values.keys()).sort((a, b) => values[a]! - values[b]! || a - b);
    expect([...orderByAscending(values)]).toEqual(expected);
  });
});

describe.each([
  ['cudaMalloc', cudaMalloc],
  ['expandable', expandable],
])('the state after an entry, %s', (_, { page, columns }) => {
  const moments = [0, 0.2, 0.5, 0.77, 1].map((share) => Math.floor(page.lastSeq * share));

  it('is live from its first entry to before its last one', () => {
    for (const seq of moments) {
      const expected = Array.from(columns.blocks.from.keys()).filter(
        (i) => columns.blocks.from[i]! <= seq && seq < columns.blocks.to[i]!,
      );
      expect([...liveAt(columns, seq).blocks].sort((a, b) => a - b)).toEqual(expected);
    }
  });

  it('divides each segment into live and free bytes', () => {
    for (const seq of moments) {
      const state = holesAt(page, columns, seq);
      const free = state.holes.reduce((sum, hole) => sum + hole.bytes, 0);
      expect(state.liveBytes + free).toBe(state.reservedBytes);
      for (const segment of state.segments) expect(segment.liveBytes + segment.freeBytes).toBe(segment.bytes);
      const level = columns.levels[0]!;
      const column = level.at.indexOf(seq);
      if (column >= 0) expect(state.reservedBytes).toBe(level.reserved[column]);
    }
  });

  it('keeps free bytes by pins, or could give them back', () => {
    for (const seq of moments) {
      const state = holesAt(page, columns, seq);
      const outside = state.segments.filter((segment) => !segment.isPrivate);
      const kept = outside.reduce((sum, segment) => sum + segment.freeBytes - segment.releasableBytes, 0);
      expect(state.pins.reduce((sum, pin) => sum + pin.bytes, 0)).toBe(kept);
      for (const pin of state.pins) expect(pin.end).toBeGreaterThan(pin.first);
    }
  });

  it('finds the cheapest run of blocks', () => {
    const request = requestNear(page, 0)!;
    expect(request.seq).toBe(page.lastSeq);
    const state = holesAt(page, columns, request.seq);
    expect(largestFor(state, request)!.bytes).toBeLessThan(request.bytes);
    const { bytes, place } = columns.blocks;
    let least = Number.POSITIVE_INFINITY;
    for (const segment of state.segments) {
      if (segment.isSmall || segment.isPrivate || segment.stream !== 0) continue;
      for (let first = segment.firstBlock; first < segment.endBlock; first += 1) {
        const before = state.live.blocks[first - 1]!;
        const from = first === segment.firstBlock ? segment.place : place[before]! + bytes[before]!;
        let sum = 0;
        for (let end = first + 1; end <= segment.endBlock; end += 1) {
          sum += bytes[state.live.blocks[end - 1]!]!;
          const to = end < segment.endBlock ? place[state.live.blocks[end]!]! : segment.place + segment.bytes;
          if (to - from >= request.bytes) least = Math.min(least, sum);
        }
      }
    }
    const run = cheapestRun(columns, state, request);
    expect(run?.liveBytes ?? Number.POSITIVE_INFINITY).toBe(least);
  });
});

describe('what keeps a hole', () => {
  const blocks = [
    [10, 2],
    [45, 20],
    [100, 1],
  ] as const;

  it('in a cudaMalloc segment is every live block', () => {
    const { page, columns } = tiny(blocks, 120);
    const { holes, segments } = holesAt(page, columns, 5);
    expect(holes.map((hole) => hole.bytes / MIB)).toEqual([10, 33, 35, 19]);
    for (const hole of holes)
      expect(hole).toMatchObject({ reason: 'between_live_blocks', firstPin: 0, endPin: 3, releasableBytes: 0 });
    expect(segments[0]).toMatchObject({ releasableBytes: 0, largestHoleBytes: 35 * MIB });
  });

  it('in an expandable segment are the blocks of its first and last page', () => {
    const { page, columns } = tiny(blocks, 120, { isExpandable: true });
    const { holes, pins } = holesAt(page, columns, 5);
    // Pages of 20 MiB: 0–20 and 40–60 and 60–80 and 100–120 hold blocks.
    expect(holes.map((hole) => hole.releasableBytes / MIB)).toEqual([0, 20, 20, 0]);
    expect(holes.map((hole) => [hole.firstPin, hole.endPin])).toEqual([
      [0, 1],
      [0, 2],
      [1, 2],
      [2, 3],
    ]);
    expect(pins.map((pin) => pin.bytes / MIB)).toEqual([18, 5, 15, 19]);
  });

  it('is the pool where the pool is private, and nothing where the segment is free', () => {
    const privately = tiny(blocks, 120, { isPrivate: true });
    expect(holesAt(privately.page, privately.columns, 5).holes.map((hole) => hole.reason)).toEqual(
      Array(4).fill('private_pool'),
    );
    const { page, columns } = tiny(blocks, 120);
    expect(holesAt(page, columns, 50).holes).toMatchObject([{ reason: 'releasable', releasableBytes: 120 * MIB }]);
  });

  it('is enlarged by its smaller neighbours first', () => {
    const { page, columns } = tiny(blocks, 120);
    const state = holesAt(page, columns, 5);
    const byOne = enlarged(columns, state, state.holes[2]!, 1);
    expect(byOne).toMatchObject({ first: 2, end: 3, liveBytes: MIB, holeBytes: 55 * MIB });
    expect(enlarged(columns, state, state.holes[2]!, 9)).toMatchObject({ first: 0, end: 3, holeBytes: 120 * MIB });
  });
});

describe('whole moments', () => {
  it('are those of the ranges of the page', () => {
    const ranges = [
      { from: 100, to: 120 },
      { from: 900, to: 900 },
    ];
    const { page } = tiny([], 1, { page: { allBlocks: 9, wholeRanges: ranges } });
    expect([99, 100, 120, 121, 900].map((seq) => isWholeAt(page, seq))).toEqual([false, true, true, false, true]);
    expect([0, 110, 400, 600].map((seq) => nearestWhole(page, seq))).toEqual([100, 110, 120, 900]);
    expect(nearestWhole({ ...page, wholeRanges: [] }, 5)).toBeNull();
  });
});

/** What a page keeps where it cannot hold all: finer columns where readers look, and the largest blocks. */
import { describe, expect, it } from 'vitest';
import { addressBands, placeOf } from '../../../src/findings/picture/address-rows.js';
import { chooseBlocks, MOST_BLOCKS } from '../../../src/findings/picture/choose-blocks.js';
import { chooseRanges, LEVEL_COLUMNS } from '../../../src/findings/picture/choose-ranges.js';
import { type BlockColumns, OPEN_SEQ } from '../../../src/model/picture/levels.js';

describe('ranges with columns of their own', () => {
  const shape = { firstSeq: 0, lastSeq: 9_999_999, oomSeqs: [9_999_000], peakSeq: 4_000_000, steps: [] };

  it('begin with the whole trace, and become finer around the OOM and the peak', () => {
    const ranges = chooseRanges(shape);
    expect(ranges[0]).toEqual({ name: 'whole trace', from: 0, to: 9_999_999, columns: LEVEL_COLUMNS });
    const around = (seq: number) => ranges.filter(({ from, to }) => from <= seq && seq <= to);
    const finest = (seq: number): number =>
      Math.min(...around(seq).map(({ from, to, columns }) => (to - from + 1) / columns));
    expect(finest(9_999_000)).toBeLessThan(10);
    expect(finest(4_000_000)).toBeLessThan(10);
    expect(finest(1_000_000)).toBeGreaterThan(1000);
    for (const { from, to, columns } of ranges) expect(columns).toBeLessThanOrEqual(to - from + 1);
  });

  it('are one where each entry has a column', () => {
    expect(chooseRanges({ ...shape, lastSeq: 999, oomSeqs: [990], peakSeq: 400 })).toHaveLength(1);
  });
});

/** Small short blocks, and a few large ones that live long. */
function manyBlocks(count: number): BlockColumns {
  const large = (i: number): boolean => i % 1000 === 0;
  return {
    count,
    from: Int32Array.from({ length: count }, (_, i) => i - 1),
    to: Int32Array.from({ length: count }, (_, i) => (large(i) ? OPEN_SEQ : i + 1 + (i % 7))),
    pending: new Int32Array(count).fill(OPEN_SEQ),
    bytes: Float64Array.from({ length: count }, (_, i) => (large(i) ? 2 ** 30 : 512 * (1 + (i % 100)))),
    component: new Uint8Array(count),
    isPrivate: new Uint8Array(count),
  };
}

describe('blocks of a page', () => {
  it('are all of them where they are few', () => {
    expect(chooseBlocks(manyBlocks(500), { firstSeq: 0, lastSeq: 600 }, [300])).toEqual({
      leastArea: 0,
      whole: [{ from: -1, to: 600 }],
    });
  });

  it('are else the largest by bytes × entries, and all that are live around the moments', () => {
    const count = 400_000;
    const blocks = manyBlocks(count);
    const bounds = { firstSeq: 0, lastSeq: count };
    const { leastArea, whole } = chooseBlocks(blocks, bounds, [200_000, count]);
    const areaOf = (i: number): number =>
      blocks.bytes[i]! * (Math.min(blocks.to[i]!, count + 1) - Math.max(blocks.from[i]!, -1));
    const isWhole = (i: number): boolean => whole.some(({ from, to }) => blocks.from[i]! <= to && blocks.to[i]! > from);
    const drawn = Array.from({ length: count }, (_, i) => i).filter((i) => areaOf(i) >= leastArea || isWhole(i));
    expect(drawn.length).toBeLessThanOrEqual(MOST_BLOCKS);
    expect(drawn.length).toBeGreaterThan(MOST_BLOCKS / 2);
    expect(drawn.filter((i) => i % 1000 === 0)).toHaveLength(count / 1000);
    expect(whole.map(({ to }) => to)).toEqual([200_000, count]);
    expect(whole.every(({ from, to }) => to - from > 1000)).toBe(true);
  });
});

describe('rows of the address map', () => {
  it('are the ranges that were ever reserved, without the gaps', () => {
    const bands = addressBands(
      Float64Array.of(0x9000, 0x1000, 0x1800, 0x2000),
      Float64Array.of(0x1000, 0x1000, 0x400, 0x1000),
    );
    expect(bands).toEqual([
      { place: 0, bytes: 0x2000, address: 0x1000 },
      { place: 0x2000, bytes: 0x1000, address: 0x9000 },
    ]);
    const addresses = [0xfff, 0x1000, 0x2fff, 0x3000, 0x9010];
    const places = [undefined, 0, 0x1fff, undefined, 0x2010];
    expect(addresses.map((address) => placeOf(bands, address))).toEqual(places);
  });
});

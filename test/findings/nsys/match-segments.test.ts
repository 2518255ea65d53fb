/** Which blocks of the driver are PyTorch's: addresses and sizes tell, and where they are used again, time does. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DriverAllocation } from '../../../src/findings/nsys/driver-allocation.js';
import { matchSegments, type SegmentMatch, type TorchSegment } from '../../../src/findings/nsys/match-segments.js';

const MIB = 2 ** 20;
const MS = 1_000_000;
/** UTC of the report's time 0, µs. */
const UTC_US = 1_780_000_000_000_000;

/** Life of a block, ms of the report's clock; null: since before the capture, or to its end. */
type Life = readonly [from: number | null, to: number | null];

function block(address: number, [from, to]: Life, bytes = 20 * MIB, kind = 'device'): DriverAllocation {
  return {
    pid: 1,
    device: 0,
    kind,
    address,
    bytes,
    allocNs: from === null ? null : from * MS,
    freeNs: to === null ? null : to * MS,
    origin: from === null ? 'before_capture' : 'traced',
    isInPool: false,
    api: 'cudaMalloc',
    thread: null,
    library: null,
    modules: [],
    ranges: [],
    isInNccl: false,
  };
}

/** The same in the snapshot, whose clock is `skewUs` ahead. */
function segment(address: number, [from, to]: Life, { skewUs = 0, bytes = 20 * MIB } = {}): TorchSegment {
  const us = (ms: number | null): number | null => (ms === null ? null : UTC_US + ms * 1000 + skewUs);
  return { address, bytes, allocUs: us(from), freeUs: us(to) };
}

/** Blocks that both sides show once, to lay the clocks by. */
const anchorBlocks = (count: number): DriverAllocation[] =>
  Array.from({ length: count }, (_, i) => block(900 + i, [1 + i, null]));
const anchorSegments = (count: number, skewUs: number): TorchSegment[] =>
  Array.from({ length: count }, (_, i) => segment(900 + i, [1 + i, null], { skewUs }));

/** Places of those among `blocks` that matched, the anchors aside. */
function matchedOf(
  blocks: readonly DriverAllocation[],
  segments: readonly TorchSegment[],
  {
    skewUs = 0,
    offsetUs = UTC_US as number | null,
    firstMs = 0 as number | null,
    dumpMs = 10_000 as number | null,
    anchors = 3,
  } = {},
): { readonly places: number[]; readonly match: SegmentMatch } {
  const match = matchSegments(
    [...blocks, ...anchorBlocks(anchors)],
    [...segments, ...anchorSegments(anchors, skewUs)],
    offsetUs,
    {
      firstUs: firstMs === null ? null : UTC_US + firstMs * 1000 + skewUs,
      lastUs: dumpMs === null ? null : UTC_US + dumpMs * 1000 + skewUs,
    },
  );
  return { places: [...match.matched].filter((i) => i < blocks.length).sort((a, b) => a - b), match };
}

describe('blocks of one address and size', () => {
  // Torch, NCCL, torch again, somebody else to the end.
  const lives: readonly Life[] = [
    [10, 20],
    [20, 30],
    [30, 40],
    [40, null],
  ];
  const blocks = lives.map((life) => block(7, life));

  it.each([0, 350, -2_500_000, 4_200_000, 59_000_000])('are told apart by their times (%i µs apart)', (skewUs) => {
    const torch = [segment(7, lives[0]!, { skewUs }), segment(7, lives[2]!, { skewUs })];
    const { places, match } = matchedOf(blocks, torch, { skewUs });
    expect(places).toEqual([0, 2]);
    expect(match).toMatchObject({
      alignment: { by: 'pairs', pairs: 3, correction_us: skewUs, error_us: 0 },
      unseenBytes: 0,
      isOfAnother: false,
    });
  });

  it('are distinguished without any clock in the report', () => {
    const torch = [segment(7, lives[1]!), segment(7, lives[3]!)];
    const { places, match } = matchedOf(blocks, torch, { offsetUs: null });
    expect(places).toEqual([1, 3]);
    expect(match.alignment).toEqual({ by: 'pairs', pairs: 3, correction_us: UTC_US, error_us: 0 });
  });

  it('are not all taken where one is known', () => {
    expect(matchedOf(blocks, [segment(7, lives[1]!)]).places).toEqual([1]);
    expect(matchedOf(blocks, []).places).toEqual([]);
  });

  it('must be of the device, and of the very size', () => {
    const otherBytes = [block(7, lives[0]!, 20 * MIB, 'managed'), block(7, lives[0]!, 22 * MIB), block(8, lives[0]!)];
    const { places, match } = matchedOf(otherBytes, [segment(7, [10, null])]);
    expect(places).toEqual([]);
    expect(match.unseenBytes).toBe(20 * MIB);
  });
});

describe('a life that one side saw only in part', () => {
  it('is known by its end where it began before the capture', () => {
    const { places } = matchedOf(
      [block(7, [null, 50]), block(7, [60, 70]), block(7, [80, null])],
      [segment(7, [null, 50])],
    );
    expect(places).toEqual([0]);
  });

  it('is known by its end where it began before the recording', () => {
    const blocks = [block(7, [10, 20]), block(7, [30, 90]), block(7, [95, null])];
    expect(matchedOf(blocks, [segment(7, [null, 90])]).places).toEqual([1]);
  });

  it('is known by its address where it was held throughout the recording', () => {
    const blocks = [block(7, [10, 20]), block(7, [30, null])];
    expect(matchedOf(blocks, [segment(7, [null, null])]).places).toEqual([1]);
  });

  it('is not one that ended before the dump', () => {
    const { places, match } = matchedOf([block(7, [10, 20])], [segment(7, [null, null])], { dumpMs: 100 });
    expect(places).toEqual([]);
    expect(match.unseenBytes).toBe(20 * MIB);
  });

  it('may end after the dump', () => {
    expect(matchedOf([block(7, [10, 200])], [segment(7, [null, null])], { dumpMs: 100 }).places).toEqual([0]);
    expect(matchedOf([block(7, [null, 200])], [segment(7, [50, null])], { dumpMs: 100 }).places).toEqual([0]);
  });

  it('is not one that began after the dump', () => {
    // PyTorch gave the segment back, and somebody else got its address.
    const blocks = [block(7, [10, 200]), block(7, [300, null])];
    expect(matchedOf(blocks, [segment(7, [null, null])], { dumpMs: 100 }).places).toEqual([0]);
    expect(matchedOf(blocks.slice(1), [segment(7, [null, null])], { dumpMs: 100 }).places).toEqual([]);
  });

  it('counts as unseen where it has no allocation, as the parts of an expandable segment have none', () => {
    const part = { ...segment(11, [null, null], { bytes: 500 * MIB }) };
    const { match } = matchedOf([block(12, [10, null])], [part, segment(13, [5, 6])]);
    // What was given back before the dump is not in the reserve.
    expect(match.unseenBytes).toBe(500 * MIB);
    expect(match.matched.size).toBe(3);
  });
});

describe('a life outside the recording', () => {
  const unrecorded = (lives: readonly Life[], more: Parameters<typeof matchedOf>[2] = {}): number[] => {
    const blocks = lives.map((life, i) => block(20 + i, life));
    const { match } = matchedOf(blocks, [segment(20, [100, null])], { firstMs: 50, dumpMs: 500, ...more });
    return [...match.unrecorded].filter((i) => i < blocks.length);
  };
  const lives: readonly Life[] = [
    [100, null],
    [10, 40],
    [10, 60],
    [10, null],
    [60, 70],
    [499, null],
    [501, null],
    [null, 30],
    [null, 70],
  ];

  it('is one of which the snapshot says nothing', () => {
    expect(unrecorded(lives)).toEqual([1, 6, 7]);
    expect(unrecorded(lives, { skewUs: 0, offsetUs: null })).toEqual([1, 6, 7]);
  });

  it('is any that was not held at the dump where there is no trace', () => {
    expect(unrecorded(lives, { firstMs: null, dumpMs: null })).toEqual([1, 2, 4, 7, 8]);
  });

  it('is not known without a clock', () => {
    expect(unrecorded(lives, { offsetUs: null, anchors: 0 })).toEqual([]);
  });
});

describe('a segment whose address the driver never gave', () => {
  const claimed = (allocation: DriverAllocation): boolean => allocation.thread === 'NCCL Service 0';
  const bySize = (
    blocks: readonly DriverAllocation[],
    segments: readonly TorchSegment[],
    offsetUs: number | null = UTC_US,
  ) => matchSegments(blocks, segments, offsetUs, { firstUs: UTC_US, lastUs: UTC_US + 10_000_000 }, claimed);

  it('is known by its size and time, the nearest first', () => {
    const blocks = [
      block(1, [50, null]),
      block(2, [100, 200]),
      block(3, [100.5, null]),
      block(4, [300, null], 2 * MIB),
    ];
    const { matched, byAddress } = bySize(blocks, [
      segment(71, [100.4, null]),
      segment(72, [99.9, 200]),
      segment(73, [300, null], { bytes: 2 * MIB }),
    ]);
    expect([[...matched].sort(), byAddress]).toEqual([[1, 2, 3], 0]);
  });

  it('is not one of another size, of another time, or that something else is known to own', () => {
    const nccl = { ...block(5, [100, null]), thread: 'NCCL Service 0' };
    const blocks = [
      block(1, [110, null]),
      block(2, [100, null], 22 * MIB),
      block(3, [100, null], 20 * MIB, 'pinned'),
      nccl,
    ];
    expect(bySize(blocks, [segment(71, [100, null])]).matched.size).toBe(0);
    expect(bySize([nccl], [segment(71, [100, null])]).unseenBytes).toBe(20 * MIB);
  });

  it('is not looked for without a clock, nor where the driver did give its address', () => {
    expect(bySize([block(1, [100, null])], [segment(71, [100, null])], null).matched.size).toBe(0);
    const reused = [block(71, [5000, null]), block(2, [100, null])];
    expect(bySize(reused, [segment(71, [100, null])]).matched.has(1)).toBe(false);
  });
});

describe('clocks', () => {
  it('are taken at their word with fewer than three pairs', () => {
    const blocks = [block(7, [100, null]), block(8, [200, null])];
    const near = { anchors: 0, skewUs: 900_000 };
    const segments = (skewUs: number): TorchSegment[] => [
      segment(7, [100, null], { skewUs }),
      segment(8, [200, null], { skewUs }),
    ];
    const { places, match } = matchedOf(blocks, segments(900_000), near);
    expect(places).toEqual([0, 1]);
    expect(match.alignment).toEqual({ by: 'nominal', pairs: 2, correction_us: null, error_us: null });
    // Too far apart for clocks of one host.
    expect(matchedOf(blocks, segments(1_100_000), { anchors: 0, skewUs: 1_100_000 }).places).toEqual([]);
  });

  it('decide nothing where there is none and nothing to lay it by', () => {
    const blocks = [block(7, [100, 150]), block(8, [200, null])];
    const without = { anchors: 0, offsetUs: null };
    expect(matchedOf(blocks, [segment(7, [100, null]), segment(8, [null, null])], without).places).toEqual([0, 1]);
    // Whether it was given back before the dump nobody knows.
    expect(matchedOf(blocks, [segment(7, [null, null])], without).places).toEqual([0]);
  });

  it('tell another launch that was given the same addresses', () => {
    for (const skewUs of [61_000_000, -3_600_000_000]) {
      const { places, match } = matchedOf(
        [block(7, [10, null])],
        [segment(7, [10, null], { skewUs }), segment(8, [null, null])],
        { skewUs },
      );
      expect(places).toEqual([]);
      expect(match.isOfAnother).toBe(true);
      expect(match.matched.size).toBe(0);
      expect(match.alignment).toMatchObject({ by: 'nominal', correction_us: null });
      expect(match.unseenBytes).toBe((2 + 3) * 20 * MIB);
    }
  });

  it('are not led astray by blocks that only look alike', () => {
    // PyTorch's was before the capture, and its address and size came again.
    const stray = matchedOf([block(7, [300, 310])], [segment(7, [20, 25])]);
    expect(stray.match.alignment).toMatchObject({ by: 'pairs', pairs: 4, correction_us: 0 });
    expect(stray.places).toEqual([]);
  });

  it('are as sure as nine in ten pairs agree', () => {
    const skews = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 5000];
    const blocks = skews.map((_, i) => block(i, [i + 1, null]));
    const segments = skews.map((skewUs, i) => segment(i, [i + 1, null], { skewUs }));
    const { alignment, matched } = matchSegments(blocks, segments, UTC_US, { firstUs: UTC_US, lastUs: null });
    expect(alignment.pairs).toBe(20);
    expect(alignment.correction_us).toBe(9.5);
    expect(alignment.error_us).toBeGreaterThanOrEqual(8);
    expect(alignment.error_us! < 2500 || alignment.error_us === (5000 - 1) / 2).toBe(true);
    expect(matched.size).toBe(20);
  });
});

describe('any history', () => {
  interface Turn {
    readonly address: number;
    readonly isTorch: boolean;
    readonly from: number;
    readonly to: number | null;
  }

  /**
   * Turns at each address one after the other; the last may be held to the end. They are 21 ms apart: a call may take
   * as long as 20 ms, so that what one side missed is closer than that to what the other side has no right to.
   */
  const turns: fc.Arbitrary<Turn[]> = fc
    .array(
      fc.array(
        fc.record({
          isTorch: fc.boolean(),
          gap: fc.integer({ min: 21, max: 300 }),
          length: fc.integer({ min: 2, max: 500 }),
        }),
        { minLength: 1, maxLength: 6 },
      ),
      { minLength: 1, maxLength: 8 },
    )
    .chain((addresses) =>
      fc.array(fc.boolean(), { minLength: addresses.length, maxLength: addresses.length }).map((isHeld) =>
        addresses.flatMap((uses, address) => {
          let clock = 0;
          return uses.map(({ isTorch, gap, length }, i): Turn => {
            const from = clock + gap;
            clock = from + length;
            return { address, isTorch, from, to: i === uses.length - 1 && isHeld[address]! ? null : clock };
          });
        }),
      ),
    );

  it('is distinguished, whatever the clocks', () => {
    const END_MS = 10_000;
    fc.assert(
      fc.property(
        turns,
        fc.integer({ min: -50_000_000, max: 50_000_000 }),
        fc.boolean(),
        fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 100, maxLength: 100 }),
        // The capture and the recording begin somewhere in it.
        fc.integer({ min: 0, max: 400 }),
        fc.integer({ min: 0, max: 400 }),
        (all, skewUs, hasClock, jitter, captureMs, recordingMs) => {
          const seen = (to: number | null, since: number): boolean => to === null || to >= since;
          const cut = (from: number, since: number): number | null => (from < since ? null : from);
          const shown = all.filter(({ from, to }) => (to !== null || from >= captureMs) && seen(to, captureMs));
          const blocks = shown.map(({ address, from, to }) => block(address, [cut(from, captureMs), to]));
          const torch = all.filter(({ isTorch, to }) => isTorch && seen(to, recordingMs));
          const segments = torch.map(({ address, from, to }, i) => {
            const life = segment(address, [cut(from, recordingMs), to], { skewUs });
            const late = jitter[i % jitter.length]!;
            return { ...life, allocUs: life.allocUs === null ? null : life.allocUs + late };
          });
          const offsetUs = hasClock ? UTC_US : null;
          // More than can be mistaken for each other, one at each address.
          const { places, match } = matchedOf(blocks, segments, { skewUs, offsetUs, dumpMs: END_MS, anchors: 20 });
          const expected = shown.flatMap((turn, i) => (torch.includes(turn) ? [i] : []));
          expect(places).toEqual(expected);
          const held = torch.filter((turn) => turn.to === null && !shown.includes(turn));
          expect(match.unseenBytes).toBe(held.length * 20 * MIB);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** Which blocks of the driver are PyTorch's: addresses and sizes tell, and where they are used again, time does. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DriverAllocation } from '../../../src/derive/nsys/driver-allocation.js';
import { matchSegments, type TorchSegment } from '../../../src/derive/nsys/match-segments.js';
import { SEED } from '../../support/level.js';

const MIB = 2 ** 20;
const MS = 1_000_000;
/** UTC of the report's time 0, µs. */
const UTC_US = 1_780_000_000_000_000;

/** Life of a block, ms of the report's clock; null: since before the capture, or to its end. */
type Life = readonly [from: number | null, to: number | null];

function block(address: number, [from, to]: Life, bytes = 20 * MIB, more: Partial<DriverAllocation> = {}) {
  const [allocNs, freeNs] = [from, to].map((ms) => (ms === null ? null : ms * MS));
  return {
    ...{ pid: 1, device: 0, kind: 'device', address, bytes, allocNs, freeNs, isInPool: false, api: 'cudaMalloc' },
    ...{ origin: from === null ? 'before_capture' : 'traced', thread: null, library: null, modules: [], ranges: [] },
    ...{ isInNccl: false, ...more },
  } as DriverAllocation;
}

/** The same in the snapshot, whose clock is `skewUs` ahead. */
function segment(address: number, [from, to]: Life, { skewUs = 0, bytes = 20 * MIB } = {}): TorchSegment {
  const us = (ms: number | null): number | null => (ms === null ? null : UTC_US + ms * 1000 + skewUs);
  return { address, bytes, allocUs: us(from), freeUs: us(to) };
}

/** `ADDRESS:FROM-TO` in ms, with `xN` if it has not 20 MiB, and the kind of memory if it is not of the device. */
const livesOf = (text: string) =>
  text.split(' ').flatMap((life) => {
    const [, address, from = '', to = '', mib = '20', kind] =
      /^(\d+):([\d.]*)-(\d*)(?:x(\d+))?(\w+)?$/.exec(life) ?? [];
    const ms = (digits: string): number | null => (digits === '' ? null : Number(digits));
    return address === undefined
      ? []
      : [{ address: Number(address), life: [ms(from), ms(to)] as Life, bytes: Number(mib) * MIB, kind }];
  });
const blocksOf = (text: string): DriverAllocation[] =>
  livesOf(text).map(({ address, life, bytes, kind }) =>
    block(address, life, bytes, kind === undefined ? {} : { kind }),
  );
const segmentsOf = (text: string, skewUs = 0): TorchSegment[] =>
  livesOf(text).map(({ address, life, bytes }) => segment(address, life, { skewUs, bytes }));

/** Times of the recording, ms; null: unknown. */
interface Clocks {
  readonly skewUs?: number;
  readonly offsetUs?: number | null;
  readonly firstMs?: number | null;
  readonly dumpMs?: number | null;
  /** Blocks that both sides show once, to lay the clocks by. */
  readonly anchors?: number;
}

/** Places of those among `blocks` that matched, the anchors aside. */
function matchedOf(blocks: readonly DriverAllocation[], segments: readonly TorchSegment[], clocks: Clocks = {}) {
  const { skewUs = 0, offsetUs = UTC_US, firstMs = 0, dumpMs = 10_000, anchors = 3 } = clocks;
  const us = (ms: number | null): number | null => (ms === null ? null : UTC_US + ms * 1000 + skewUs);
  const more = Array.from({ length: anchors }, (_, i) => [900 + i, [1 + i, null]] as const);
  const match = matchSegments(
    [...blocks, ...more.map(([address, life]) => block(address, life))],
    [...segments, ...more.map(([address, life]) => segment(address, life, { skewUs }))],
    offsetUs,
    { firstUs: us(firstMs), lastUs: us(dumpMs) },
  );
  return { places: [...match.matched].filter((i) => i < blocks.length).sort((a, b) => a - b), match };
}

// Torch, NCCL, torch again, somebody else to the end.
const LIVES = '7:10-20 7:20-30 7:30-40 7:40-';

describe('blocks of one address and size', () => {
  it.each([0, 350, -2_500_000, 4_200_000, 59_000_000])('are told apart by their times (%i µs apart)', (skewUs) => {
    const { places, match } = matchedOf(blocksOf(LIVES), segmentsOf('7:10-20 7:30-40', skewUs), { skewUs });
    expect(places).toEqual([0, 2]);
    expect(match).toMatchObject({
      alignment: { by: 'pairs', pairs: 3, correction_us: skewUs, error_us: 0 },
      ...{ unseenBytes: 0, isOfAnother: false },
    });
  });

  it('are distinguished without any clock in the report', () => {
    const { places, match } = matchedOf(blocksOf(LIVES), segmentsOf('7:20-30 7:40-'), { offsetUs: null });
    expect(places).toEqual([1, 3]);
    expect(match.alignment).toEqual({ by: 'pairs', pairs: 3, correction_us: UTC_US, error_us: 0 });
  });
});

interface Row {
  readonly is: string;
  readonly blocks: string;
  readonly segments: string;
  readonly places: readonly number[];
  readonly clocks?: Clocks;
  /** MiB of segments without a block. */
  readonly unseen?: number;
}

it.each<Row>([
  { is: 'one of several lives', blocks: LIVES, segments: '7:20-30', places: [1] },
  { is: 'of no segment', blocks: LIVES, segments: '', places: [] },
  // Another kind, another size, another address.
  { is: 'only alike', blocks: '7:10-20managed 7:10-20x22 8:10-20', segments: '7:10-', places: [], unseen: 20 },
  { is: 'known by its end, begun before the capture', blocks: '7:-50 7:60-70 7:80-', segments: '7:-50', places: [0] },
  {
    is: 'known by its end, begun before the recording',
    blocks: '7:10-20 7:30-90 7:95-',
    segments: '7:-90',
    places: [1],
  },
  { is: 'known by its address, held throughout', blocks: '7:10-20 7:30-', segments: '7:-', places: [1] },
  ...[
    { is: 'not one that ended before the dump', blocks: '7:10-20', segments: '7:-', places: [], unseen: 20 },
    { is: 'one that ended after the dump', blocks: '7:10-200', segments: '7:-', places: [0] },
    { is: 'one from before that ended after the dump', blocks: '7:-200', segments: '7:50-', places: [0] },
    // PyTorch gave the segment back, and somebody else got its address.
    { is: 'the one of two at the dump', blocks: '7:10-200 7:300-', segments: '7:-', places: [0] },
    { is: 'not one that began after the dump', blocks: '7:300-', segments: '7:-', places: [] },
  ].map((row) => ({ ...row, clocks: { dumpMs: 100 } })),
  // As the parts of an expandable segment have none; what was given back before the dump is not in the reserve.
  { is: 'without an allocation', blocks: '12:10-', segments: '11:-x500 13:5-6', places: [], unseen: 500 },
  // Clocks are trusted with fewer than three pairs, unless they are too far apart for those of one host.
  ...[
    { is: 'placed by the clock', skewUs: 900_000, places: [0, 1] },
    { is: 'not placed by a clock too far away', skewUs: 1_100_000, places: [] },
  ].map(({ skewUs, ...row }) => {
    return { ...row, blocks: '7:100- 8:200-', segments: '7:100- 8:200-', clocks: { anchors: 0, skewUs } };
  }),
  ...[
    { is: 'placed without a clock', blocks: '7:100-150 8:200-', segments: '7:100- 8:-', places: [0, 1] },
    // Whether it was given back before the dump nobody knows.
    { is: 'placed by its address without a clock', blocks: '7:100-150 8:200-', segments: '7:-', places: [0] },
  ].map((row) => ({ ...row, clocks: { anchors: 0, offsetUs: null } })),
])('a block is $is', ({ blocks, segments, places, clocks = {}, unseen }) => {
  const actual = matchedOf(blocksOf(blocks), segmentsOf(segments, clocks.skewUs), clocks);
  expect(actual.places).toEqual(places);
  expect(actual.match.matched.size).toBe(places.length + (clocks.anchors ?? 3));
  if (unseen !== undefined) expect(actual.match.unseenBytes).toBe(unseen * MIB);
  if (clocks.skewUs === 900_000)
    expect(actual.match.alignment).toEqual({ by: 'nominal', pairs: 2, correction_us: null, error_us: null });
});

describe('a life outside the recording', () => {
  const LIVES_AROUND = '20:100- 21:10-40 22:10-60 23:10- 24:60-70 25:499- 26:501- 27:-30 28:-70';

  it.each<[string, Clocks, number[]]>([
    ['is one of which the snapshot has nothing', {}, [1, 6, 7]],
    ['is known by the anchors', { offsetUs: null }, [1, 6, 7]],
    ['is any that was not held at the dump where there is no trace', { firstMs: null, dumpMs: null }, [1, 2, 4, 7, 8]],
    ['is not known without a clock', { offsetUs: null, anchors: 0 }, []],
  ])('%s', (_, clocks, expected) => {
    const blocks = blocksOf(LIVES_AROUND);
    const { match } = matchedOf(blocks, segmentsOf('20:100-'), { firstMs: 50, dumpMs: 500, ...clocks });
    expect([...match.unrecorded].filter((i) => i < blocks.length)).toEqual(expected);
  });
});

describe('a segment whose address the driver never gave', () => {
  const claimed = (allocation: DriverAllocation): boolean => allocation.thread === 'NCCL Service 0';
  const nccl = block(5, [100, null], 20 * MIB, { thread: 'NCCL Service 0' });
  const bySize = (blocks: readonly DriverAllocation[], segments: string, offsetUs: number | null = UTC_US) => {
    const recording = { firstUs: UTC_US, lastUs: UTC_US + 10_000_000 };
    return matchSegments(blocks, segmentsOf(segments), offsetUs, recording, claimed);
  };

  it('is known by its size and time, the nearest first', () => {
    const blocks = blocksOf('1:50- 2:100-200 3:100.5- 4:300-x2');
    const { matched, byAddress } = bySize(blocks, '71:100.4- 72:99.9-200 73:300-x2');
    expect([[...matched].sort(), byAddress]).toEqual([[1, 2, 3], 0]);
  });

  it('is not one of another size, of another time, or that something else is known to own', () => {
    expect(bySize([...blocksOf('1:110- 2:100-x22 3:100-pinned'), nccl], '71:100-').matched.size).toBe(0);
    expect(bySize([nccl], '71:100-').unseenBytes).toBe(20 * MIB);
  });

  it('is not looked for without a clock, nor where the driver did give its address', () => {
    expect(bySize(blocksOf('1:100-'), '71:100-', null).matched.size).toBe(0);
    expect(bySize(blocksOf('71:5000- 2:100-'), '71:100-').matched.has(1)).toBe(false);
  });
});

describe('clocks', () => {
  it.each([61_000_000, -3_600_000_000])('tell another launch that was given the same addresses (%i µs)', (skewUs) => {
    const { places, match } = matchedOf(blocksOf('7:10-'), segmentsOf('7:10- 8:-', skewUs), { skewUs });
    expect([places, match.isOfAnother, match.matched.size]).toEqual([[], true, 0]);
    expect(match.alignment).toMatchObject({ by: 'nominal', correction_us: null });
    expect(match.unseenBytes).toBe((2 + 3) * 20 * MIB);
  });

  it('are not led astray by blocks that only look alike', () => {
    // PyTorch's was before the capture, and its address and size came again.
    const stray = matchedOf(blocksOf('7:300-310'), segmentsOf('7:20-25'));
    expect(stray.match.alignment).toMatchObject({ by: 'pairs', pairs: 4, correction_us: 0 });
    expect(stray.places).toEqual([]);
  });

  it('are as sure as nine in ten pairs agree', () => {
    const skews = Array.from({ length: 20 }, (_, i) => (i === 19 ? 5000 : i));
    const blocks = skews.map((_, i) => block(i, [i + 1, null]));
    const segments = skews.map((skewUs, i) => segment(i, [i + 1, null], { skewUs }));
    const { alignment, matched } = matchSegments(blocks, segments, UTC_US, { firstUs: UTC_US, lastUs: null });
    expect([alignment.pairs, alignment.correction_us, matched.size]).toEqual([20, 9.5, 20]);
    expect(alignment.error_us).toBeGreaterThanOrEqual(8);
    expect(alignment.error_us! < 2500 || alignment.error_us === (5000 - 1) / 2).toBe(true);
  });
});

describe('any history', () => {
  /**
   * Turns at each address one after the other; the last may be held to the end. They are 21 ms apart: a call may take
   * as long as 20 ms, so that what one side missed is closer than that to what the other side has no right to.
   */
  const use = fc.record({
    ...{ isTorch: fc.boolean(), gap: fc.integer({ min: 21, max: 300 }), length: fc.integer({ min: 2, max: 500 }) },
  });
  const uses = fc.record({ isHeld: fc.boolean(), uses: fc.array(use, { minLength: 1, maxLength: 6 }) });
  const turns = fc.array(uses, { minLength: 1, maxLength: 8 }).map((addresses) =>
    addresses.flatMap(({ isHeld, uses }, address) => {
      let clock = 0;
      return uses.map(({ isTorch, gap, length }, i) => {
        const from = clock + gap;
        clock = from + length;
        return { address, isTorch, from, to: i === uses.length - 1 && isHeld ? null : clock };
      });
    }),
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
      { numRuns: 300, seed: SEED },
    );
  });
});

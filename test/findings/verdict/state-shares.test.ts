/** A state divided into shares: each kind of hole by hand, and any state to the byte. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AllocatorSettings, DEFAULT_SETTINGS } from '../../../src/allocator/settings.js';
import { type AllocatorState, placeBlocks, stateTotals } from '../../../src/allocator/walk/allocator-state.js';
import { partsOfShares } from '../../../src/findings/verdict/accounting.js';
import {
  HOLE_KINDS,
  type HoleKind,
  type StateShares,
  shareState,
} from '../../../src/findings/verdict/causes/state-shares.js';
import { MIB } from '../../../src/model/units.js';

interface Segment {
  readonly total: number;
  readonly stream?: number;
  readonly small?: boolean;
  readonly pool?: number;
  readonly expandable?: boolean;
  readonly blocks?: readonly {
    readonly offset: number;
    readonly size: number;
    /** −1 where unknown; default: all of it. */
    readonly requested?: number;
    readonly pending?: boolean;
  }[];
}

function stateOf(list: readonly Segment[]): AllocatorState {
  const address = (segment: number): number => (segment + 1) * 2 ** 40;
  const rows = list.flatMap(({ blocks = [] }, segment) => blocks.map((block) => ({ segment, ...block })));
  const size = Float64Array.from(rows, (row) => row.size);
  const state: AllocatorState = {
    afterSeq: 0,
    segments: {
      count: list.length,
      address: Float64Array.from(list, (_, i) => address(i)),
      totalBytes: Float64Array.from(list, ({ total }) => total),
      stream: Float64Array.from(list, ({ stream }) => stream ?? 0),
      small: Uint8Array.from(list, ({ small }) => (small === true ? 1 : 0)),
      pool: Int32Array.from(list, ({ pool }) => pool ?? 0),
      expandable: Uint8Array.from(list, ({ expandable }) => (expandable === true ? 1 : 0)),
      inferred: new Uint8Array(list.length),
      firstBlock: new Int32Array(list.length + 1),
    },
    blocks: {
      count: rows.length,
      address: Float64Array.from(rows, (row) => address(row.segment) + row.offset),
      sizeBytes: size,
      minBytes: size,
      maxBytes: size,
      requestedBytes: Float64Array.from(rows, (row) => row.requested ?? row.size),
      state: Uint8Array.from(rows, ({ pending }) => (pending === true ? 1 : 0)),
      segment: new Int32Array(rows.length),
      stackId: new Int32Array(rows.length).fill(-1),
      stackOrigin: new Uint8Array(rows.length),
      allocSeq: new Int32Array(rows.length).fill(-1),
    },
  };
  placeBlocks(state.segments, state.blocks);
  return state;
}

const holesOf = (shares: StateShares): Partial<Record<HoleKind, number>> =>
  Object.fromEntries(
    HOLE_KINDS.flatMap((kind) => (shares.holes[kind].bytes === 0 ? [] : [[kind, shares.holes[kind].bytes]])),
  );

const live = (offset: number, size: number) => ({ offset, size });
const request = { bytes: 30 * MIB, stream: 0 };

describe('a hole, against the request that failed', () => {
  it('is named by why it was of no use', () => {
    const shares = shareState(
      stateOf([
        { total: 40 * MIB, blocks: [live(0, 20 * MIB)] },
        { total: 40 * MIB, stream: 7, blocks: [live(0, 5 * MIB)] },
        { total: 2 * MIB, small: true, blocks: [live(0, MIB)] },
        { total: 64 * MIB, blocks: [live(0, 4 * MIB)] },
      ]),
      DEFAULT_SETTINGS,
      request,
    );
    expect(holesOf(shares)).toEqual({
      too_small: 20 * MIB,
      other_stream: 35 * MIB,
      other_size_class: MIB,
      large_enough: 60 * MIB,
    });
    expect(shares.holes.other_stream).toMatchObject({ largestBytes: 35 * MIB, count: 1 });
  });

  it('in an expandable segment is pinned by the pages it shares; whole pages are only too small', () => {
    // Live at 0 to 5 and 65 to 70 MiB: of the hole between them the pages of 20 MiB from 20 to 60 are free.
    const state = stateOf([
      { total: 80 * MIB, expandable: true, blocks: [live(0, 5 * MIB), live(65 * MIB, 15 * MIB)] },
    ]);
    const shares = shareState(state, DEFAULT_SETTINGS, { bytes: 61 * MIB, stream: 0 });
    expect(holesOf(shares)).toEqual({ page_pinned: 20 * MIB, too_small: 40 * MIB });
    expect(holesOf(shareState(state, DEFAULT_SETTINGS, null))).toEqual({ page_pinned: 20 * MIB, releasable: 40 * MIB });
  });

  it('is kept for larger requests by max_split_size_mb, both ways', () => {
    const settings: AllocatorSettings = { ...DEFAULT_SETTINGS, maxSplitBytes: 64 * MIB };
    const state = stateOf([{ total: 200 * MIB, blocks: [live(0, 100 * MIB)] }]);
    expect(holesOf(shareState(state, settings, request))).toEqual({ kept_for_larger: 100 * MIB });
    // Larger than the limit itself: served by a block up to 20 MiB larger.
    expect(holesOf(shareState(state, settings, { bytes: 70 * MIB, stream: 0 }))).toEqual({
      kept_for_larger: 100 * MIB,
    });
    expect(holesOf(shareState(state, settings, { bytes: 90 * MIB, stream: 0 }))).toEqual({ large_enough: 100 * MIB });
  });
});

describe('a hole at any other moment', () => {
  it('is named by whether a flush gives it back', () => {
    const shares = shareState(
      stateOf([
        { total: 40 * MIB, blocks: [live(0, 20 * MIB)] },
        { total: 22 * MIB },
        { total: 2 * MIB, small: true, blocks: [live(0, MIB)] },
      ]),
      DEFAULT_SETTINGS,
      null,
    );
    expect(holesOf(shares)).toEqual({ between_live_blocks: 20 * MIB, releasable: 22 * MIB, small_pool: MIB });
  });
});

describe('what is live', () => {
  it('is requested, rounding, unknown, pending, or of private pools', () => {
    const shares = shareState(
      stateOf([
        {
          total: 40 * MIB,
          blocks: [
            { offset: 0, size: 2 * MIB, requested: 2 * MIB - 100 },
            { offset: 2 * MIB, size: MIB, requested: -1 },
            { offset: 3 * MIB, size: 4 * MIB, pending: true },
          ],
        },
        { total: 20 * MIB, pool: 3, blocks: [live(0, 5 * MIB), { offset: 5 * MIB, size: MIB, pending: true }] },
      ]),
      DEFAULT_SETTINGS,
      request,
    );
    expect(shares.allocated).toEqual({ requestedBytes: 2 * MIB - 100, roundingBytes: 100, unknownBytes: MIB });
    expect(shares.pendingBytes).toBe(4 * MIB);
    expect(shares.privatePools).toEqual({ liveBytes: 6 * MIB, freeBytes: 14 * MIB });
  });
});

const PAGE = MIB;
const segment: fc.Arbitrary<Segment> = fc
  .record({
    stream: fc.constantFrom(0, 0, 7),
    small: fc.boolean(),
    pool: fc.constantFrom(0, 0, 0, 2),
    expandable: fc.boolean(),
    pieces: fc.array(
      fc.record({
        pages: fc.integer({ min: 1, max: 60 }),
        kind: fc.constantFrom('live', 'pending', 'free'),
        waste: fc.integer({ min: -1, max: 1000 }),
      }),
      { minLength: 1, maxLength: 8 },
    ),
  })
  .map(({ pieces, ...rest }) => {
    let offset = 0;
    const blocks: { offset: number; size: number; requested: number; pending: boolean }[] = [];
    for (const { pages, kind, waste } of pieces) {
      const size = pages * PAGE;
      if (kind !== 'free')
        blocks.push({ offset, size, requested: waste < 0 ? -1 : size - waste, pending: kind === 'pending' });
      offset += size;
    }
    return { ...rest, total: offset, blocks };
  });

it('any state adds up to its reserve, with a request or without', () => {
  fc.assert(
    fc.property(
      fc.array(segment, { maxLength: 12 }),
      fc.option(fc.record({ bytes: fc.integer({ min: 512, max: 200 * MIB }), stream: fc.constantFrom(null, 0, 7) })),
      fc.constantFrom(Number.POSITIVE_INFINITY, 32 * MIB),
      (segments, asked, maxSplitBytes) => {
        const state = stateOf(segments);
        const shares = shareState(state, { ...DEFAULT_SETTINGS, maxSplitBytes }, asked);
        const parts = partsOfShares(shares, 'snapshot entry 7', asked !== null);
        const sum = parts.reduce((total, { bytes }) => total + bytes, 0);
        expect(sum).toBe(stateTotals(state).reservedBytes);
        expect(shares.reservedBytes).toBe(sum);
        for (const part of parts) {
          expect(part.bytes).toBeGreaterThan(0);
          if (part.of !== undefined) expect(part.of.reduce((total, { bytes }) => total + bytes, 0)).toBe(part.bytes);
        }
        const of = (name: string): number => parts.find(({ part }) => part === name)?.bytes ?? 0;
        const holes = parts
          .filter(({ part }) => part.startsWith('cached_'))
          .reduce((total, { bytes }) => total + bytes, 0);
        expect(of('allocated') + of('pending_free') + shares.privatePools.liveBytes).toBe(
          stateTotals(state).activeBytes,
        );
        expect(holes + shares.privatePools.freeBytes).toBe(sum - stateTotals(state).activeBytes);
      },
    ),
    { numRuns: 500 },
  );
});

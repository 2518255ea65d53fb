/** The account of a state, in SQL: each kind of free block by hand, and any state to the byte. */
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AllocatorSettings, DEFAULT_SETTINGS } from '../../../src/allocator/settings.js';
import { stateTotals } from '../../../src/allocator/walk/allocator-state.js';
import { partsOfState, type StateParts, statePartsAt } from '../../../src/derive/verdict/accounting.js';
import { deriveOoms } from '../../../src/ingest/derive/derive-ooms.js';
import { MIB } from '../../../src/model/units.js';
import type { Store } from '../../../src/store/store.js';
import { runs, SEED } from '../../support/level.js';
import { newStore } from '../../support/new-store.js';
import { OOM_SEQ, type Segment, stateOf, writeStates } from '../../support/states/hand-made-states.js';
import type { RequestThen } from '../../support/states/state-account.js';
import { freeByClass, oversizeSlack, partsOf, powerRounding } from '../../support/states/state-account.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

let store: Store;
beforeAll(async () => {
  store = await newStore(join(temporaryDirectory(), 'states.duckdb'), { threads: 1 });
});
afterAll(() => store.close());

const beforeOom = (i: number) => ({ snapshot_id: i + 1, device: 0, at_seq: OOM_SEQ - 1 });

/** Divided for the request that failed. */
async function statePartsOfOom(snapshotId: number): Promise<StateParts> {
  const rows = await store.all('verdict.oom_account', { run_id: 1 });
  return new Map(rows.filter((row) => row.snapshot_id === snapshotId).map(({ part, bytes }) => [part, bytes]));
}

/** The parts of the first snapshot: against a failed request, or of any other moment. */
async function partsOfFirst(
  segments: readonly Segment[],
  request: RequestThen | null,
  settings: AllocatorSettings = DEFAULT_SETTINGS,
): Promise<Record<string, number>> {
  await writeStates(store, [{ state: stateOf(segments), settings, request }]);
  if (request === null) return Object.fromEntries((await statePartsAt(store, [beforeOom(0)]))[0]!);
  await deriveOoms(store, 1);
  return Object.fromEntries(await statePartsOfOom(1));
}

const cached = (parts: Record<string, number>) =>
  Object.fromEntries(Object.entries(parts).filter(([part]) => part.startsWith('cached_')));

const live = (offset: number, size: number) => ({ offset, size });
const REQUEST = { bytes: 30 * MIB, stream: 0 };

describe('a free block, against the request that failed', () => {
  it('has the reason why it was of no use', async () => {
    const parts = await partsOfFirst(
      [
        { total: 40 * MIB, blocks: [live(0, 20 * MIB)] },
        { total: 40 * MIB, stream: 7, blocks: [live(0, 5 * MIB)] },
        { total: 2 * MIB, small: true, blocks: [live(0, MIB)] },
        { total: 64 * MIB, blocks: [live(0, 4 * MIB)] },
      ],
      REQUEST,
    );
    expect(cached(parts)).toEqual({
      cached_too_small: 20 * MIB,
      cached_other_stream: 35 * MIB,
      cached_other_size_class: MIB,
      cached_large_enough: 60 * MIB,
    });
  });

  it('in an expandable segment is pinned by the pages it shares; whole pages are only too small', async () => {
    // Live at 0 to 5 and 65 to 80 MiB: of the hole between them the pages of 20 MiB from 20 to 60 are free.
    const segments = [{ total: 80 * MIB, expandable: true, blocks: [live(0, 5 * MIB), live(65 * MIB, 15 * MIB)] }];
    const parts = await partsOfFirst(segments, { bytes: 61 * MIB, stream: 0 });
    expect(cached(parts)).toEqual({ cached_page_pinned: 20 * MIB, cached_too_small: 40 * MIB });
    const otherwise = await partsOfFirst(segments, null);
    expect(cached(otherwise)).toEqual({ cached_page_pinned: 20 * MIB, cached_releasable: 40 * MIB });
  });

  it('is kept for larger requests by max_split_size_mb, both ways', async () => {
    const settings: AllocatorSettings = { ...DEFAULT_SETTINGS, maxSplitBytes: 64 * MIB };
    const segments = [{ total: 200 * MIB, blocks: [live(0, 100 * MIB)] }];
    const against = async (bytes: number) => cached(await partsOfFirst(segments, { bytes, stream: 0 }, settings));
    expect(await against(30 * MIB)).toEqual({ cached_kept_for_larger: 100 * MIB });
    // Larger than the limit itself: served by a block up to 20 MiB larger.
    expect(await against(70 * MIB)).toEqual({ cached_kept_for_larger: 100 * MIB });
    expect(await against(90 * MIB)).toEqual({ cached_large_enough: 100 * MIB });
  });
});

describe('a free block at any other moment', () => {
  it('is divided by whether a flush gives it back', async () => {
    const parts = await partsOfFirst(
      [
        { total: 40 * MIB, blocks: [live(0, 20 * MIB)] },
        { total: 22 * MIB },
        { total: 2 * MIB, small: true, blocks: [live(0, MIB)] },
      ],
      null,
    );
    expect(cached(parts)).toEqual({
      cached_between_live_blocks: 20 * MIB,
      cached_releasable: 22 * MIB,
      cached_small_pool: MIB,
    });
  });
});

describe('live memory', () => {
  it('is requested, rounding, unknown, pending, or of private pools', async () => {
    const segments = [
      {
        total: 40 * MIB,
        blocks: [
          { offset: 0, size: 2 * MIB, requested: 2 * MIB - 100 },
          { offset: 2 * MIB, size: MIB, requested: -1 },
          { offset: 3 * MIB, size: 4 * MIB, pending: true },
        ],
      },
      { total: 20 * MIB, pool: 3, blocks: [live(0, 5 * MIB), { offset: 5 * MIB, size: MIB, pending: true }] },
    ];
    for (const request of [REQUEST, null])
      expect(await partsOfFirst(segments, request)).toMatchObject({
        requested: 2 * MIB - 100,
        rounding: 100,
        request_not_recorded: MIB,
        pending_free: 4 * MIB,
        private_pools_live: 6 * MIB,
        private_pools_free: 14 * MIB,
      });
  });
});

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
      const size = pages * MIB;
      if (kind !== 'free')
        blocks.push({ offset, size, requested: waste < 0 ? -1 : size - waste * 512, pending: kind === 'pending' });
      offset += size;
    }
    return { ...rest, total: offset, blocks };
  });

const DIVISIONS = [0, 2, 4, 8, 16, 4, 2, 1, 8, 8, 8, 8, 8, 8, 8, 8];

/** What the screen adds up. */
function expectSums(parts: StateParts, state: ReturnType<typeof stateOf>, isAsked: boolean): void {
  const shown = partsOfState(parts, { path: 'snapshot', entry: 7 }, isAsked);
  expect(shown.reduce((total, { bytes }) => total + bytes, 0)).toBe(stateTotals(state).reservedBytes);
  for (const part of shown) {
    expect(part.bytes).toBeGreaterThan(0);
    if (part.of !== undefined) expect(part.of.reduce((total, { bytes }) => total + bytes, 0)).toBe(part.bytes);
  }
}

it('any state adds up to its reserve, with a request or without, and to what its columns give', async () => {
  const sample = fc.record({
    segments: fc.array(segment, { maxLength: 12 }),
    request: fc.option(
      fc.record({ bytes: fc.integer({ min: 512, max: 200 * MIB }), stream: fc.constantFrom(null, 0, 7) }),
    ),
    maxSplitBytes: fc.constantFrom(Number.POSITIVE_INFINITY, 32 * MIB),
    divisions: fc.constantFrom(DEFAULT_SETTINGS.roundupPower2Divisions, DIVISIONS),
  });
  const samples = fc
    .sample(sample, { numRuns: runs(12, 300), seed: SEED })
    .map(({ segments, request, maxSplitBytes, divisions: roundupPower2Divisions }) => ({
      state: stateOf(segments),
      request,
      settings: { ...DEFAULT_SETTINGS, maxSplitBytes, roundupPower2Divisions },
    }));
  await writeStates(store, samples);
  const accounts = await statePartsAt(
    store,
    samples.map((_, i) => beforeOom(i)),
  );
  for (const [i, { state, request, settings }] of samples.entries()) {
    const parts = accounts[i]!;
    expect(parts).toEqual(partsOf(state, settings, null));
    expectSums(parts, state, false);
    if (request === null) continue;
    await deriveOoms(store, i + 1);
    const asked = await statePartsOfOom(i + 1);
    expect(asked).toEqual(partsOf(state, settings, request));
    expectSums(asked, state, true);
    const rows = await store.all('verdict.oom_free', { run_id: 1 });
    const free = rows
      .filter((row) => row.snapshot_id === i + 1)
      .map((row) => [row.class, row.bytes, row.largest_bytes, row.free_blocks, row.pinned_segments, row.pinning_bytes]);
    const expected = [...freeByClass(state, request)].map(([name, { bytes, largest, count, pinned, pinning }]) => {
      return [name, bytes, largest, count, pinned.size, pinning];
    });
    expect(free.sort()).toEqual(expected.sort());
    const [sums] = await store.select(
      'SELECT coalesce(max(oversize_slack_bytes), 0), max(power2_rounding_bytes) FROM oom_rounding WHERE snapshot_id = $id',
      { id: i + 1 },
    );
    expect(Object.values(sums!).map((value) => (value === null ? null : Number(value)))).toEqual([
      oversizeSlack(state, settings),
      powerRounding(state, settings),
    ]);
  }
});

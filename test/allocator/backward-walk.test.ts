import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AllocatorSettings, DEFAULT_SETTINGS } from '../../src/allocator/settings.js';
import { stateTotals } from '../../src/allocator/walk/allocator-state.js';
import { MIB } from '../../src/model/units.js';
import type { TraceAction } from '../../src/model/vocabulary.js';
import { SEED } from '../support/level.js';
import { finalState, walkEvents } from '../support/snapshot-rows.js';
import {
  activeBytes,
  asRuns,
  dumpOf,
  EXPANDABLE,
  MAX_SPLIT,
  type Play,
  play,
  playOn,
  type Run,
  reservedBytes,
  SETTINGS_AND_STEPS,
  steps,
} from './plays.js';
import { BackwardWalk, type WalkOptions } from './walk/backward-walk.js';

/** Walks a played trace back to `cut`, in batches of `batch` events. */
function walkBack(played: Play, cut: number, options: WalkOptions = {}, batch = 7): BackwardWalk {
  const walk = new BackwardWalk(dumpOf(played.moments.at(-1)!), played.settings, options);
  for (let end = played.events.length; end > cut; end -= batch) {
    const from = Math.max(cut, end - batch);
    walk.undo(walkEvents(played.events.slice(from, end), from));
  }
  return walk;
}

/** `found` equals `truth` but for sizes that it marks as uncertain, which must be within their bounds. */
function expectState(found: ReturnType<BackwardWalk['state']>, truth: readonly Run[], stacks: boolean): void {
  const strip = (run: Run): unknown => ({
    ...run,
    holes: null,
    blocks: run.blocks.map((b) => ({ ...b, size: 0, stack: stacks ? b.stack : 0 })),
  });
  const runs = asRuns(found);
  expect(runs.map(strip)).toEqual(truth.map(strip));
  const sizes = truth.flatMap((run) => run.blocks.map((block) => block.size));
  let certain = true;
  for (let row = 0; row < found.blocks.count; row += 1) {
    const min = found.blocks.minBytes[row]!;
    const max = found.blocks.maxBytes[row]!;
    if (min === max) expect(found.blocks.sizeBytes[row]).toBe(sizes[row]);
    else {
      certain = false;
      expect(sizes[row]).toBeGreaterThanOrEqual(min);
      expect(sizes[row]).toBeLessThanOrEqual(max);
    }
  }
  if (certain) expect(runs.map((run) => run.holes)).toEqual(truth.map((run) => run.holes));
}

function peakOf(moments: readonly (readonly Run[])[], cut: number, of: (runs: readonly Run[]) => number) {
  let bytes = -1;
  let seq: number | null = null;
  for (let moment = cut; moment < moments.length; moment += 1) {
    const value = of(moments[moment]!);
    if (value > bytes) {
      bytes = value;
      seq = moment === cut ? null : moment - 1;
    }
  }
  return { bytes, seq };
}

type Row = readonly [action: TraceAction, address: number, bytes: number];

/** A walk over hand-written rows; the large segment at 0 has the given live blocks at the end. */
function walkRows(
  rows: readonly Row[],
  final: { segments: readonly (readonly [number, number])[]; blocks: readonly (readonly [number, number, number?])[] },
  settings: AllocatorSettings = DEFAULT_SETTINGS,
  options: WalkOptions = {},
): BackwardWalk {
  const state = finalState({
    segments: final.segments.map(([address, bytes]) => ({ address, bytes, pool: -1 })),
    blocks: final.blocks.map(([address, bytes, requested = -1]) => ({ address, bytes, requested })),
  });
  const walk = new BackwardWalk(state, settings, options);
  walk.undo(walkEvents(rows.map(([action, address, bytes]) => ({ action, address, bytes }))));
  return walk;
}

describe('true size of a block freed inside the trace', () => {
  const freed = (address: number, bytes: number): Row[] => [
    ['free_requested', address, bytes],
    ['free_completed', address, bytes],
  ];

  it('takes a remainder of at most 1 MiB up to the segment end as part of the block', () => {
    const walk = walkRows(freed(0, 11 * MIB), { segments: [[0, 12 * MIB]], blocks: [] });
    const state = walk.finish();
    expect([...state.blocks.sizeBytes]).toEqual([12 * MIB]);
    expect([...state.blocks.maxBytes]).toEqual([12 * MIB]);
    expect(walk.exact).toBe(true);
  });

  it('leaves it open behind more than 1 MiB, with the bound that a free block of the large pool exceeds 1 MiB', () => {
    const walk = walkRows(freed(0, 11 * MIB), { segments: [[0, 14 * MIB]], blocks: [[12.5 * MIB, 1.5 * MIB]] });
    const state = walk.finish();
    expect(state.blocks.sizeBytes[0]).toBe(11 * MIB);
    expect(state.blocks.maxBytes[0]! - state.blocks.minBytes[0]!).toBe(MIB / 2 - 512);
    expect(stateTotals(state)).toMatchObject({ uncertainBlocks: 1, uncertainBytes: MIB / 2 - 512 });
  });

  it('is certain without a remainder when the gap is the smallest that can be free', () => {
    const walk = walkRows(freed(0, 11 * MIB), { segments: [[0, 14 * MIB]], blocks: [[12 * MIB + 512, 1.5 * MIB]] });
    expect(stateTotals(walk.finish()).uncertainBlocks).toBe(0);
  });

  /** A block at 12 MiB is freed before the one at 0 is, so that the end of that is in doubt at its own free. */
  const late = (bytes: number): Row[] => [
    ...freed(12 * MIB, 4 * MIB),
    ['alloc', 30 * MIB, bytes],
    ...freed(30 * MIB, bytes),
    ...freed(0, 11 * MIB),
  ];
  const TWO = { segments: [[0, 20 * MIB] as const, [30 * MIB, 20 * MIB] as const], blocks: [] };

  it('finds it late, when a block right behind is met, and corrects peak, totals and captures', () => {
    const walk = walkRows(late(2 * MIB), TWO, DEFAULT_SETTINGS, { captureAfter: [2] });
    walk.finish();
    const { blocks } = walk.captured(2)!;
    expect([...blocks.sizeBytes]).toEqual([12 * MIB, 2 * MIB]);
    expect([...blocks.maxBytes]).toEqual([12 * MIB, 2 * MIB]);
    expect(blocks.allocSeq[1]).toBe(2);
    expect(walk.activeBytes).toBe(16 * MIB);
    expect(walk.peak).toEqual({ bytes: 16 * MIB, seq: null });
  });

  it('moves the peak to where the late correction makes it highest', () => {
    // Without the MiB left on the block at 0 it would be 15.5 MiB there, below the 16 MiB of the start.
    expect(walkRows(late(4.5 * MIB), TWO).peak).toEqual({ bytes: 16.5 * MIB, seq: 2 });
  });

  it('is the whole range for a request of max_split_size or more', () => {
    const walk = walkRows(freed(0, 30 * MIB), { segments: [[0, 32 * MIB]], blocks: [] }, MAX_SPLIT);
    const state = walk.finish();
    expect(state.blocks.sizeBytes[0]).toBe(32 * MIB);
    expect(state.blocks.minBytes[0]).toBe(30 * MIB);
  });
});

describe('against a forward allocator', () => {
  for (const [name, settings, list] of SETTINGS_AND_STEPS) {
    it(`finds the state, the peaks and the moments in between (${name})`, () => {
      fc.assert(
        fc.property(list, fc.nat(), fc.nat(), (chosen, cutPick, momentPick) => {
          const played = play(settings, chosen);
          const cut = cutPick % (played.events.length + 1);
          const moment = cut - 1 + (momentPick % (played.events.length - cut + 1));
          const walk = walkBack(played, cut, { captureAfter: [moment, played.events.length - 1] });
          const start = walk.finish();
          const truth = played.moments[cut]!;
          expect(walk.violations).toEqual([]);
          expect(walk.exact).toBe(true);
          expectState(start, truth, false);
          expectState(walk.captured(moment)!, played.moments[moment + 1]!, moment === -1);
          expectState(walk.captured(played.events.length - 1)!, played.moments.at(-1)!, true);
          expect(walk.reservedBytes).toBe(reservedBytes(truth));
          expect(walk.empty).toBe(truth.length === 0);
          expect(walk.peakReserved).toEqual(peakOf(played.moments, cut, reservedBytes));
          const totals = stateTotals(start);
          expect(walk.activeBytes).toBe(totals.activeBytes);
          expect(walk.pendingBytes).toBe(totals.pendingBytes);
          expect(walk.requestedBytes).toBe(totals.requestedBytes);
          const peak = peakOf(played.moments, cut, activeBytes);
          if (totals.uncertainBlocks === 0) expect(walk.peak).toEqual(peak);
          expect(Math.abs(walk.peak.bytes - peak.bytes)).toBeLessThanOrEqual(totals.uncertainBytes);
        }),
        { numRuns: 300, seed: SEED },
      );
    });
  }

  it('gives captured blocks their alloc event and its stack', () => {
    fc.assert(
      fc.property(steps, fc.nat(), (list, pick) => {
        const played = play(DEFAULT_SETTINGS, list);
        const moment = pick % (played.events.length + 1);
        const walk = walkBack(played, 0, { captureAfter: [moment - 1] });
        walk.finish();
        expect(walk.capturesSettled).toBe(true);
        const { blocks } = walk.captured(moment - 1)!;
        expectState(walk.captured(moment - 1)!, played.moments[moment]!, true);
        for (let row = 0; row < blocks.count; row += 1) {
          const event = played.events[blocks.allocSeq[row]!]!;
          expect([event.action, event.address]).toEqual(['alloc', blocks.address[row]]);
        }
      }),
      { numRuns: 150, seed: SEED },
    );
  });

  it('keeps to bounds where segments from before expandable_segments:True remain', () => {
    fc.assert(
      fc.property(steps, steps, fc.nat(), (before, after, pick) => {
        const played = play(EXPANDABLE, []);
        played.settings = DEFAULT_SETTINGS;
        playOn(played, before);
        played.settings = EXPANDABLE;
        for (const { kind, size: bytes } of after) {
          const live = played.live();
          if (kind === 'malloc') played.malloc(bytes, 0, 0);
          else if (live.length > 0) played.free(live[0]!, false);
        }
        const cut = pick % (played.events.length + 1);
        const walk = walkBack(played, cut);
        expect(walk.violations).toEqual([]);
        expectState(walk.finish(), played.moments[cut]!, false);
      }),
      { numRuns: 150, seed: SEED },
    );
  });

  it.each(['free_requested', 'free_completed'])('works without %s entries, and counts what it implied', (left) => {
    fc.assert(
      fc.property(steps, (list) => {
        const isWithoutEnds = left === 'free_completed';
        const played = play(DEFAULT_SETTINGS, isWithoutEnds ? list.filter(({ kind }) => kind !== 'defer') : list);
        const events = played.events.filter((event) => event.action !== left);
        const options = isWithoutEnds ? { freeCompletedRecorded: false } : { freeRequestedRecorded: false };
        const walk = new BackwardWalk(dumpOf(played.moments.at(-1)!), played.settings, options);
        walk.undo(walkEvents(events));
        expect(walk.violations).toEqual([]);
        expect(walk.peak.bytes).toBe(peakOf(played.moments, 0, activeBytes).bytes);
        if (isWithoutEnds) {
          const frees = played.events.length - events.length;
          expect([walk.impliedCompletions, walk.exact, walk.activeBytes]).toEqual([frees, frees === 0, 0]);
        } else expect(walk.empty).toBe(true);
      }),
      { numRuns: 100, seed: SEED },
    );
  });

  it('recovers from a dump whose segments are a few events older than its trace', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 8 }), (list, skew) => {
        const played = play(DEFAULT_SETTINGS, list);
        const older = Math.max(0, played.events.length - skew);
        const walk = new BackwardWalk(dumpOf(played.moments[older]!), played.settings);
        walk.undo(walkEvents(played.events));
        expect(walk.violationCount).toBe(walk.tailViolationCount);
        expect(walk.empty).toBe(true);
      }),
      { numRuns: 150, seed: SEED },
    );
  });

  it('survives traces that make no sense, and says so', () => {
    const mib = (min: number, max: number) => fc.integer({ min, max }).map((k) => k * MIB);
    const odd = fc.constantFrom(Number.NaN, -1, 0, 1, 2 ** 60, Number.POSITIVE_INFINITY);
    const segments = ['segment_alloc', 'segment_free', 'segment_map', 'segment_unmap'] as const;
    const event = fc.record({
      action: fc.constantFrom('alloc', 'free_requested', 'free_completed', ...segments, 'oom', 'other'),
      address: fc.oneof(mib(-2, 40), fc.constantFrom(Number.NaN, -1, 2 ** 52)),
      bytes: fc.oneof(mib(0, 30), odd),
      stream: fc.constantFrom(0, 1, Number.NaN),
      stack: fc.integer({ min: -1, max: 3 }),
    });
    fc.assert(
      fc.property(steps, fc.array(event, { maxLength: 300, size: 'max' }), (list, noise) => {
        const played = play(DEFAULT_SETTINGS, list);
        const walk = new BackwardWalk(dumpOf(played.moments.at(-1)!), played.settings, { captureAfter: [5] });
        walk.undo(walkEvents(noise));
        const state = walk.finish();
        const totals = stateTotals(state);
        expect(walk.violations.length).toBe(Math.min(100, walk.violationCount));
        expect(walk.exact).toBe(walk.violationCount === 0);
        // The books still balance, and blocks still lie side by side within segments.
        expect(totals.activeBytes).toBe(walk.activeBytes);
        expect(totals.pendingBytes).toBe(walk.pendingBytes);
        expect(totals.reservedBytes).toBe(walk.reservedBytes);
        for (const run of asRuns(state)) {
          const held = run.blocks.reduce((sum, b) => sum + b.size, 0) + run.holes.reduce((sum, h) => sum + h.bytes, 0);
          expect(held).toBe(run.bytes);
        }
      }),
      { numRuns: 300, seed: SEED },
    );
  });
});

/**
 * Replays of what the model itself did: whatever the settings, nothing may be left unexplained where the record tells
 * enough.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finalDifference } from '../../../src/allocator/fidelity/compare-final-state.js';
import { judgeReplay } from '../../../src/allocator/fidelity/fidelity.js';
import type { ReplayOutcome } from '../../../src/allocator/replay/replay-outcome.js';
import { verifyingReplay } from '../../../src/allocator/replay/verifying-replay.js';
import { ALLOCATOR_VARIANTS } from '../../../src/allocator/variants.js';
import type { AllocatorState } from '../../../src/allocator/walk/allocator-state.js';
import { type History, history, type Played, play } from '../history.js';
import { type PreparedRecording, recordPlayed, withoutPools, writesPools } from './played-recording.js';

const SEED = 20_261_121;

function histories(count: number): History[] {
  return fc.sample(history, { numRuns: count, seed: SEED });
}

const usesPools = ({ steps }: History): boolean => steps.some(({ kind }) => kind === 'pool');

/** Captures that allocate nothing leave no trace, and still forbid flushes. */
function showsItsPools(past: History, { trace }: Played): boolean {
  return !usesPools(past) || trace.some(({ poolId }) => poolId[0] + poolId[1] > 0);
}

function replayed({ recording }: PreparedRecording, past: History): ReplayOutcome {
  return verifyingReplay(recording, ALLOCATOR_VARIANTS[past.release]);
}

/** What is wrong with a replay; empty if nothing is. */
function faultsOf(outcome: ReplayOutcome, { dump, recording }: PreparedRecording): string[] {
  const faults: string[] = [];
  if (outcome.addressMatches !== outcome.allocs) faults.push('address');
  if (outcome.mismatchCount > 0) faults.push(outcome.mismatches[0]!.kind);
  if (outcome.driverEntryMismatches > 0 || outcome.driverEntryMatches !== outcome.driverEntries)
    faults.push('driver entries');
  if (finalDifference(outcome.allocator.snapshot(), dump) !== null) faults.push('final state');
  // Before 2.12 an oom entry does not tell its pool.
  if (recording.events.pool !== undefined && outcome.ooms.some((oom) => !oom.repeated)) faults.push('oom');
  return faults;
}

describe('replays of generated histories', () => {
  it('repeat every address, driver entry and final block without private pools, over all settings, streams and pending frees', () => {
    let replays = 0;
    for (const past of histories(2000).map(withoutPools)) {
      const played = play(past, () => {}, { isRoomy: true });
      const prepared = recordPlayed(played, past, { withStacks: true });
      expect(prepared.back.violations).toEqual([]);
      const outcome = replayed(prepared, past);
      expect({ past: past.conf, faults: faultsOf(outcome, prepared) }).toEqual({ past: past.conf, faults: [] });
      replays += 1;
    }
    expect(replays).toBeGreaterThan(1000);
  });

  it('need no stacks for it, except where garbage collection and an emptied cache look alike', () => {
    let collected = 0;
    let differing = 0;
    for (const past of histories(1000).map(withoutPools)) {
      const played = play(past, () => {}, { isRoomy: true });
      const prepared = recordPlayed(played, past);
      const faults = faultsOf(replayed(prepared, past), prepared);
      if (past.memoryFraction !== undefined && played.settings.garbageCollectionThreshold > 0) {
        collected += 1;
        if (faults.length > 0) differing += 1;
      } else expect({ past: past.conf, faults }).toEqual({ past: past.conf, faults: [] });
    }
    expect(collected).toBeGreaterThan(100);
    expect(differing / collected).toBeLessThan(0.02);
  });

  it('explain nearly all with private pools, captures and pools for OOMs, and never claim the rest', () => {
    const seen = { pooled: { replays: 0, faults: 0 }, byAddress: { replays: 0, faults: 0 } };
    for (const past of histories(3000)) {
      if (!usesPools(past)) continue;
      const played = play(past, () => {}, { isRoomy: true });
      if (!showsItsPools(past, played)) continue;
      const prepared = recordPlayed(played, past, { withStacks: true });
      const outcome = replayed(prepared, past);
      const faults = faultsOf(outcome, prepared);
      const kind = writesPools(past) ? seen.pooled : seen.byAddress;
      kind.replays += 1;
      if (faults.length > 0) kind.faults += 1;
      const { recording, dump, walk } = prepared;
      if (faults.length > 0) expect(judgeReplay(recording, dump, walk).status).not.toBe('exact');
    }
    console.info(`replays with private pools: ${JSON.stringify(seen)}`);
    expect(seen.pooled.faults / seen.pooled.replays).toBeLessThan(0.02);
    // Before 2.12 entries do not tell their pool: a segment that is gone by the end may have been of any.
    expect(seen.byAddress.faults / seen.byAddress.replays).toBeLessThan(0.1);
  });

  it('are judged by the variant that fits', () => {
    for (const past of histories(400).map(withoutPools)) {
      const prepared = recordPlayed(
        play(past, () => {}, { isRoomy: true }),
        past,
        { withStacks: true },
      );
      const { recording, dump, walk } = prepared;
      const { outcome, finalDifference: difference } = judgeReplay(recording, dump, walk);
      if (outcome.allocs === 0) continue;
      expect(outcome.mismatchCount).toBe(0);
      expect(difference).toBeNull();
    }
  });

  it('survive the loss of any first entries: what is unsure is flagged, the end is that of the dump', () => {
    const random = fc.sample(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), {
      numRuns: 4000,
      seed: SEED,
    });
    const sum = { cuts: 0, blocks: 0, uncertain: 0, wrong: 0, differing: 0, differingAfterUncertain: 0 };
    let at = 0;
    for (const past of histories(1000).map(withoutPools)) {
      // The ages of garbage are in no cut recording.
      if (past.memoryFraction !== undefined) continue;
      const played = play(past, () => {}, { isRoomy: true });
      const complete = recordPlayed(played, past, { withStacks: true });
      for (let i = 0; i < 3; i += 1) {
        const skip = Math.floor(random[at++ % random.length]! * played.trace.length);
        if (isTorn(played, skip)) continue;
        const cut = recordPlayed(played, past, { skip, withStacks: true });
        expect(cut.back.violations).toEqual([]);
        const compared = compareStarts(cut.start, truthAt(past, complete, skip));
        expect(compared.wrongUnflagged).toBe(0);
        sum.cuts += 1;
        sum.blocks += cut.start.blocks.count;
        sum.uncertain += compared.uncertain;
        sum.wrong += compared.wrong;
        const faults = faultsOf(replayed(cut, past), cut);
        if (faults.length === 0) continue;
        sum.differing += 1;
        if (compared.uncertain > 0) sum.differingAfterUncertain += 1;
        else if (isCountedByCreation(past)) continue;
        else expect({ conf: past.conf, release: past.release, skip, faults }).toEqual({});
      }
    }
    console.info(`cut recordings: ${JSON.stringify(sum)}`);
    expect(sum.cuts).toBeGreaterThan(500);
    expect(sum.wrong).toBeLessThanOrEqual(sum.uncertain);
  });
});

/**
 * The segment of an oversize block is obtained before the first entry, its request is the first: a search for free
 * blocks never finds such a segment.
 */
function isTorn({ trace, settings }: Played, skip: number): boolean {
  const before = trace[skip - 1];
  return before?.action === 'segment_alloc' && before.sizeBytes >= settings.maxSplitBytes;
}

/** Creation counters of what was there before the recording are in no file. */
function isCountedByCreation({ release }: History): boolean {
  return ALLOCATOR_VARIANTS[release].tieBreak !== 'address';
}

/** The true live blocks before entry `skip`: the model's own, after the entries before it. */
function truthAt(past: History, { recording }: PreparedRecording, skip: number): Map<number, number> {
  const { events } = recording;
  const head = { ...recording, events: { ...events, count: skip } };
  const { allocator } = verifyingReplay(head, ALLOCATOR_VARIANTS[past.release]);
  const sizes = new Map<number, number>();
  for (const segment of allocator.snapshot())
    for (const block of segment.blocks) if (block.state !== 'inactive') sizes.set(block.addr, block.sizeBytes);
  return sizes;
}

interface Compared {
  readonly uncertain: number;
  /** Flagged and wrong. */
  readonly wrong: number;
  readonly wrongUnflagged: number;
}

function compareStarts({ blocks }: AllocatorState, truth: ReadonlyMap<number, number>): Compared {
  const compared = { uncertain: 0, wrong: 0, wrongUnflagged: 0 };
  for (let row = 0; row < blocks.count; row += 1) {
    const bytes = truth.get(blocks.address[row]!);
    const isUncertain = blocks.maxBytes[row]! > blocks.minBytes[row]!;
    if (isUncertain) compared.uncertain += 1;
    if (bytes === blocks.sizeBytes[row]) continue;
    if (isUncertain && bytes !== undefined && bytes >= blocks.minBytes[row]! && bytes <= blocks.maxBytes[row]!)
      compared.wrong += 1;
    else compared.wrongUnflagged += 1;
  }
  if (blocks.count !== truth.size) compared.wrongUnflagged += Math.abs(truth.size - blocks.count);
  return compared;
}

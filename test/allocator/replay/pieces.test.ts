/** The driver of a verifying replay, and the comparison at its end. */

import { describe, expect, it } from 'vitest';
import { createDriver } from '../../../samples/generate/simulate/simulated-driver.js';
import type { SegmentSnapshot } from '../../../src/allocator/caching/allocator-snapshot.js';
import { CachingAllocator } from '../../../src/allocator/caching/caching-allocator.js';
import { type DumpedState, finalDifference } from '../../../src/allocator/fidelity/compare-final-state.js';
import { Parted, RecordedDriver } from '../../../src/allocator/replay/recorded-driver.js';
import type { Recording } from '../../../src/allocator/replay/recording.js';
import { placeAt } from '../../../src/allocator/replay/repair.js';
import { DEFAULT_SETTINGS } from '../../../src/allocator/settings.js';
import { FREE_COMPLETED, SEGMENT_FREE } from '../../../src/allocator/trace-action-codes.js';
import { ENUMS } from '../../../src/model/columns.js';
import { MIB } from '../../../src/model/units.js';
import type { TraceAction } from '../../../src/model/vocabulary.js';
import { finalState, walkEvents } from '../../support/snapshot-rows.js';
import { finalStateOf } from '../history.js';

const BASE = 2 ** 45;

/** Addresses behind {@link BASE} and sizes in MiB. */
function driverOf(...list: readonly (readonly [TraceAction, at: number, mib: number])[]) {
  const entries = list.map(([action, at, mib]) => [action, BASE + at * MIB, mib * MIB] as const);
  const events = walkEvents(entries.map(([action, address, bytes]) => ({ action, address, bytes })));
  const recording = {
    events,
    mapRows: new Map([['0 0 0', entries.flatMap(([action], row) => (action === 'segment_map' ? [row] : []))]]),
    poolOf: new Map(),
    start: { segments: { pool: new Int32Array(0) } },
  } as unknown as Recording;
  const forced: number[] = [];
  const completed: number[] = [];
  const driver = new RecordedDriver(
    recording,
    (row) => forced.push(row),
    (row) => completed.push(row),
  );
  driver.begin(0, entries.length);
  return { driver, forced, completed };
}

describe('RecordedDriver', () => {
  it('grants what was granted, at the recorded addresses, and nothing else', () => {
    const { driver } = driverOf(['segment_alloc', 0, 2], ['segment_map', 40, 20]);
    expect(driver.malloc(2 * MIB)).toBe(BASE);
    expect(driver.reserve(100 * MIB, { stream: 0, poolId: [0, 0], kind: 'large' })).toBe(BASE + 40 * MIB);
    expect(() => driver.map(BASE, 20 * MIB)).toThrow(Parted);
    expect(driver.map(BASE + 40 * MIB, 20 * MIB)).toBe(true);
    expect(() => driver.malloc(2 * MIB)).toThrow('growth_predicted');
    expect(driver.repeated).toBe(2);
  });

  it('refuses before what was given back, and gives back by force what the model keeps', () => {
    const { driver, forced } = driverOf(['segment_free', 0, 2], ['segment_free', 2, 2], ['segment_alloc', 4, 4]);
    expect(driver.malloc(4 * MIB)).toBeNull();
    driver.released(SEGMENT_FREE, BASE, 2 * MIB);
    expect(driver.malloc(4 * MIB)).toBeNull();
    driver.lastAttempt();
    expect(driver.malloc(4 * MIB)).toBe(BASE + 4 * MIB);
    expect(forced).toEqual([1]);
    expect([driver.repeated, driver.differing]).toEqual([2, 1]);
  });

  it('counts another order of giving back, but not twice', () => {
    const { driver, forced } = driverOf(['segment_free', 0, 2], ['segment_free', 2, 2]);
    driver.released(SEGMENT_FREE, BASE + 2 * MIB, 2 * MIB);
    driver.released(SEGMENT_FREE, BASE, 2 * MIB);
    driver.forceReleases();
    expect(forced).toEqual([]);
    expect([driver.repeated, driver.differing]).toEqual([1, 1]);
  });

  it('refuses everything at an OOM, and gives a reservation nothing was mapped of an address of its own', () => {
    const { driver } = driverOf(['oom', 0, 4]);
    driver.begin(0, 0);
    expect(driver.malloc(4 * MIB)).toBeNull();
    const reservation = { stream: 7, poolId: [0, 0], kind: 'large' } as const;
    const first = driver.reserve(100 * MIB, reservation);
    expect(driver.reserve(100 * MIB, reservation)).toBe(first + 100 * MIB);
    expect(first).toBeGreaterThan(BASE);
  });

  it('waits as recorded where a capture may be in progress', () => {
    const { driver, completed } = driverOf(['free_completed', 0, 512 / MIB], ['segment_free', 0, 2]);
    expect(ENUMS.trace_action[FREE_COMPLETED]).toBe('free_completed');
    expect(driver.mayWait()).toBe(true);
    driver.mayCapture = true;
    expect(driver.mayWait()).toBe(false);
    expect(completed).toEqual([0]);
    expect(driver.mayFlush()).toBe(true);
    driver.released(SEGMENT_FREE, BASE, 2 * MIB);
    expect(driver.mayFlush()).toBe(false);
  });
});

describe('placeAt', () => {
  it('repeats an allocation inside a free block by force, and leaves what is before and behind it free', () => {
    const allocator = new CachingAllocator<number>({ driver: createDriver({ totalBytes: 2 ** 30 }) });
    const first = allocator.malloc(30 * MIB, 0);
    if (!first.ok) throw new Error('the device is not full');
    const { addr } = first.block;
    allocator.free(first.block);
    const placement = placeAt(allocator.parts(), DEFAULT_SETTINGS, addr + 10 * MIB, 8 * MIB)!;
    expect([placement.block.addr, placement.midBlock]).toEqual([addr + 10 * MIB, true]);
    const [segment] = allocator.snapshot();
    expect(
      segment!.blocks.map(({ addr: at, sizeBytes, state }) => [(at - addr) / MIB, sizeBytes / MIB, state]),
    ).toEqual([
      [0, 10, 'inactive'],
      [10, 8, 'active_allocated'],
      [18, 12, 'inactive'],
    ]);
    // Where memory is in use nothing is placed.
    expect(placeAt(allocator.parts(), DEFAULT_SETTINGS, addr + 10 * MIB, MIB)).toBeUndefined();
    expect(placeAt(allocator.parts(), DEFAULT_SETTINGS, addr + 2 * MIB, 9 * MIB)).toBeUndefined();
    expect(placeAt(allocator.parts(), DEFAULT_SETTINGS, addr, 10 * MIB)).toMatchObject({ midBlock: false });
  });
});

describe('finalDifference', () => {
  function dumped(): { replayed: SegmentSnapshot<number>[]; dump: DumpedState } {
    const allocator = new CachingAllocator<number>({ driver: createDriver({ totalBytes: 2 ** 30 }) });
    for (const mib of [3, 5, 30]) allocator.malloc(mib * MIB, 0);
    return { replayed: allocator.snapshot(), dump: finalStateOf(allocator) };
  }

  it('is null for equal states, and for none', () => {
    const { replayed, dump } = dumped();
    expect(finalDifference(replayed, dump)).toBeNull();
    expect(finalDifference([], finalState({ segments: [], blocks: [] }))).toBeNull();
  });

  it('is the first difference of segments, then of blocks', () => {
    const { replayed, dump } = dumped();
    expect(finalDifference(replayed.slice(0, 1), dump)).toMatchObject({ what: 'segment', replayed: null });
    const fewer = { ...dump, segments: { ...dump.segments, count: 1 } };
    expect(finalDifference(replayed, fewer)).toMatchObject({ what: 'segment', dumped: null });
    const state = dump.blocks.state.slice();
    state[1] = 2;
    expect(finalDifference(replayed, { ...dump, blocks: { ...dump.blocks, state } })).toMatchObject({
      what: 'block',
      dumped: { state: 2 },
      replayed: { state: 0, bytes: 5 * MIB },
    });
    const { count } = dump.blocks;
    const without = { ...dump, blocks: { ...dump.blocks, count: count - 1 } };
    expect(finalDifference(replayed, without)).toMatchObject({ what: 'block', dumped: null });
  });
});

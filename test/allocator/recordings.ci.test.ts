/** Recordings of the corpus: walked back, there and back again, and driven through the model. */
import { describe, expect, it } from 'vitest';
import type { Block } from '../../src/allocator/caching/block.js';
import { CachingAllocator } from '../../src/allocator/caching/caching-allocator.js';
import type { Driver } from '../../src/allocator/caching/driver.js';
import { isSmall, roundSize } from '../../src/allocator/rounding.js';
import type { AllocatorSettings } from '../../src/allocator/settings.js';
import { stateTotals } from '../../src/allocator/walk/allocator-state.js';
import { skipLoudly } from '../support/corpus.js';
import { finalState, walkEvents } from '../support/snapshot-rows.js';
import { freeHoles } from '../support/states/free-holes.js';
import { allRecordings, type Recording } from './corpus-recordings.js';
import { thereAndBack } from './there-and-back.js';
import { BackwardWalk } from './walk/backward-walk.js';

const DRIVER_ACTIONS: ReadonlySet<string> = new Set(['segment_alloc', 'segment_free', 'segment_map', 'segment_unmap']);

interface Replayed {
  readonly allocs: number;
  readonly driverCalls: number;
  readonly ooms: number;
}

/**
 * Drives a recording that begins with an empty allocator through the model: every address, every call to the driver,
 * and the final blocks must be those torch had. Nothing is fitted: the driver only hands out the recorded addresses.
 */
function replay({ events, segments, blocks }: Recording, settings: AllocatorSettings): Replayed {
  /** Index of the next recorded event the model has not caused yet. */
  let at = 0;
  const next = () => events[at];
  const driver: Driver = {
    malloc: (bytes) => (next()?.action === 'segment_alloc' && next()!.bytes === bytes ? next()!.address : null),
    free: () => {},
    // The reservation's base is recorded nowhere; it is at or below the lowest page ever mapped for this stream and
    // size.
    reserve: (_, { stream, kind }) =>
      Math.min(
        ...events.flatMap((mapped, i) => {
          if (mapped.action !== 'segment_map' || mapped.stream !== stream) return [];
          const request = events.slice(i).find(({ action }) => action === 'alloc' || action === 'oom')!;
          return isSmall(roundSize(request.bytes!, settings)) === (kind === 'small') ? [mapped.address!] : [];
        }),
      ),
    map: (addr, bytes) => next()?.action === 'segment_map' && next()!.address === addr && next()!.bytes === bytes,
    unmap: () => {},
    memory: () => ({
      totalBytes: 2 ** 37,
      freeBytes: next()?.action === 'oom' ? (next()!.address ?? 0) : 0,
      processBytes: 0,
    }),
  };
  let driverCalls = 0;
  const allocator = new CachingAllocator({
    driver,
    settings,
    trace: ({ action, addr, sizeBytes, stream }) => {
      const recorded = next()!;
      // An `expect` per event would take most of the test's time.
      const sameAddress = action === 'oom' || recorded.address === addr;
      const sameSize = recorded.bytes === sizeBytes;
      if (recorded.action !== action || !sameAddress || !sameSize || recorded.stream !== stream)
        throw new Error(
          `event ${at}: recorded ${JSON.stringify(recorded)}, replayed ${action} ${addr} ${sizeBytes} ${stream}`,
        );
      if (DRIVER_ACTIONS.has(action)) driverCalls += 1;
      at += 1;
    },
  });
  const live = new Map<number, Block<unknown>>();
  let allocs = 0;
  let ooms = 0;
  while (at < events.length) {
    const { action, address } = next()!;
    if (action === 'free_requested') {
      allocator.free(live.get(address!)!);
      live.delete(address!);
      continue;
    }
    if (action === 'snapshot') {
      at += 1;
      continue;
    }
    let target = at;
    while (DRIVER_ACTIONS.has(events[target]?.action ?? '')) target += 1;
    const request = events[target];
    const run = events.slice(at, target).map((event) => event.action);
    const obtains = run.includes('segment_alloc') || run.includes('segment_map');
    if (
      (action === 'segment_free' || action === 'segment_unmap') &&
      (request?.action !== 'alloc' || !obtains) &&
      request?.action !== 'oom'
    ) {
      allocator.flush();
      continue;
    }
    if (request?.action !== 'alloc' && request?.action !== 'oom')
      throw new Error(`event ${target}: ${request?.action} after a driver call`);
    const result = allocator.malloc(request.bytes!, request.stream ?? 0);
    if (result.ok) {
      live.set(result.block.addr, result.block);
      allocs += 1;
    } else ooms += 1;
  }
  const shown = allocator.snapshot();
  const order = (a: readonly unknown[], b: readonly unknown[]): number => Number(a[0]) - Number(b[0]);
  expect(shown.map(({ addr, totalBytes }) => [addr, totalBytes])).toEqual(
    segments.map(({ address, bytes }) => [address, bytes]).sort(order),
  );
  expect(shown.flatMap((segment) => segment.blocks.map((block) => [block.addr, block.sizeBytes, block.state]))).toEqual(
    blocks.map(({ address, bytes, state }) => [address, bytes, state]).sort(order),
  );
  return { allocs, driverCalls, ooms };
}

describe('recordings of the corpus', () => {
  const recordings = allRecordings();
  if (recordings.length === 0) {
    skipLoudly('recordings of the corpus', 'the corpus (set MBF_CORPUS) and python3');
    return;
  }

  it.each(recordings)('walked back: $name device $recording.device', ({ recording, settings, synthetic, truth }) => {
    const { events } = recording;
    const ooms = truth.oom_entries.map((oom) => oom.index);
    const last = events.length - 1;
    const walk = new BackwardWalk(finalState(recording), settings, {
      captureAfter: [...ooms, ...ooms.map((seq) => seq - 1), last],
    });
    for (let end = events.length; end > 0; end -= 4096) {
      const from = Math.max(0, end - 4096);
      walk.undo(walkEvents(events.slice(from, end), from));
    }
    const start = walk.finish();
    expect(walk.reservedBytes).toBe(truth.anchored_start_reserved);
    expect(walk.peakReserved.bytes).toBe(truth.anchored_peak_reserved);
    expect(stateTotals(start).reservedBytes).toBe(walk.reservedBytes);
    expect(walk.exact).toBe(!synthetic);
    // What the corpus calls synthetic contradicts the allocator's rules; it is only to be survived.
    if (synthetic) return;
    expect(walk.violations).toEqual([]);
    expect(stateTotals(start).uncertainBlocks).toBe(0);
    // The peak is a maximum of real states: capture it and its neighbours in a second walk.
    const { seq, bytes } = walk.peak;
    if (seq !== null) {
      const again = new BackwardWalk(finalState(recording), settings, { captureAfter: [seq - 1, seq, seq + 1] });
      again.undo(walkEvents(events));
      again.finish();
      const at = (moment: number): number => stateTotals(again.captured(moment)!).activeBytes;
      expect(at(seq)).toBe(bytes);
      expect(at(seq - 1)).toBeLessThan(bytes);
      expect(at(seq + 1)).toBeLessThanOrEqual(bytes);
    }
    for (const oom of truth.oom_entries) {
      const state = walk.captured(oom.index)!;
      expect(stateTotals(state)).toEqual(stateTotals(walk.captured(oom.index - 1)!));
      expect(stateTotals(state).reservedBytes).toBe(oom.reserved_at_oom);
    }
  });

  it('gives the known accounts of an out-of-memory moment', () => {
    let seen = 0;
    for (const { recording, settings, truth } of recordings) {
      if (!truth.oom_entries.some((oom) => oom.requested === 5_308_694_528)) continue;
      const oom = recording.events.findIndex((event) => event.action === 'oom');
      if (oom < 0) continue;
      seen += 1;
      const walk = new BackwardWalk(finalState(recording), settings, { captureAfter: [oom] });
      walk.undo(walkEvents(recording.events));
      const state = walk.captured(oom)!;
      const { segments, blocks } = state;
      expect(stateTotals(state)).toEqual({
        reservedBytes: 84_202_749_952,
        activeBytes: 84_063_358_976,
        allocatedBytes: 84_063_358_976,
        pendingBytes: 0,
        requestedBytes: 84_063_351_764,
        requestedUnknownBlocks: 0,
        uncertainBlocks: 0,
        uncertainBytes: 0,
      });
      expect(blocks.count).toBe(111);
      const holes = freeHoles(state);
      expect(holes.bytes.reduce((sum, hole) => sum + hole, 0)).toBe(139_390_976);
      expect(Math.max(...holes.bytes)).toBe(17_313_792);
      const reserved = [0, 0];
      const live = [0, 0];
      for (let i = 0; i < segments.count; i += 1) reserved[segments.small[i]!]! += segments.totalBytes[i]!;
      for (let row = 0; row < blocks.count; row += 1) {
        live[segments.small[blocks.segment[row]!]!]! += blocks.sizeBytes[row]!;
      }
      expect({ reserved, live }).toEqual({
        reserved: [84_200_652_800, 2_097_152],
        live: [84_061_820_416, 1_538_560],
      });
    }
    if (seen === 0) console.warn('backward walk: the corpus has no recording with that out-of-memory event');
  });

  it.each(recordings)('there and back: $name device $recording.device', ({ recording, settings, synthetic }) => {
    const events = walkEvents(recording.events);
    const moments = Array.from({ length: 20 }, (_, i) => Math.floor((i * (events.count - 1)) / 19));
    // The file that the corpus calls synthetic breaks the allocator's own rules: it only has to be survived.
    if (synthetic) expect(() => thereAndBack(finalState(recording), events, settings, moments)).toThrow();
    else expect(thereAndBack(finalState(recording), events, settings, moments).violations).toEqual([]);
  });

  it('that begin with an empty allocator, replayed cold, give every address, driver call and block', () => {
    const total = { recordings: 0, allocs: 0, driverCalls: 0, ooms: 0 };
    for (const { recording, settings } of recordings) {
      const walk = new BackwardWalk(finalState(recording), settings);
      walk.undo(walkEvents(recording.events));
      if (!walk.empty || !walk.exact) continue;
      const replayed = replay(recording, settings);
      total.recordings += 1;
      for (const name of ['allocs', 'driverCalls', 'ooms'] as const) total[name] += replayed[name];
    }
    console.info(`cold replay: ${JSON.stringify(total)}`);
    expect(total.recordings).toBeGreaterThan(0);
  });
});

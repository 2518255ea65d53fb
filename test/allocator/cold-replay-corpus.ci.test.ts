/**
 * Recordings that begin with an empty allocator, driven through the model: every address, every call to the driver, and
 * the final blocks must be those torch had. Nothing is fitted: the driver only hands out the recorded addresses.
 */
import { describe, expect, it } from 'vitest';
import type { Block } from '../../src/allocator/caching/block.js';
import { CachingAllocator } from '../../src/allocator/caching/caching-allocator.js';
import type { Driver } from '../../src/allocator/caching/driver.js';
import { isSmall, roundSize } from '../../src/allocator/rounding.js';
import type { AllocatorSettings } from '../../src/allocator/settings.js';
import { BackwardWalk } from '../../src/allocator/walk/backward-walk.js';
import { skipLoudly } from '../support/corpus.js';
import { finalState, walkEvents } from '../support/snapshot-rows.js';
import { allRecordings } from './all-recordings.js';
import type { Recording } from './corpus-recordings.js';

const DRIVER_ACTIONS: ReadonlySet<string> = new Set(['segment_alloc', 'segment_free', 'segment_map', 'segment_unmap']);

interface Replayed {
  readonly allocs: number;
  readonly driverCalls: number;
  readonly ooms: number;
}

function replay({ events, segments, blocks }: Recording, settings: AllocatorSettings): Replayed {
  /** Index of the next recorded event the model has not caused yet. */
  let at = 0;
  const next = () => events[at];
  const driver: Driver = {
    malloc: (bytes) => (next()?.action === 'segment_alloc' && next()!.bytes === bytes ? next()!.address : null),
    free: () => {},
    // The reservation's base is recorded nowhere; it lies at or below the lowest page ever mapped for this stream and
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

describe('cold recordings of the corpus, replayed', () => {
  const recordings = allRecordings();
  if (recordings.length === 0) {
    skipLoudly('cold replay', 'the corpus (set MBF_CORPUS) and python3');
    return;
  }
  it('give every address, driver call and block', () => {
    const total = { recordings: 0, allocs: 0, driverCalls: 0, ooms: 0 };
    for (const { recording, settings } of recordings) {
      const walk = new BackwardWalk(finalState(recording), settings);
      walk.undo(walkEvents(recording.events));
      if (!walk.empty || !walk.exact) continue;
      const { allocs, driverCalls, ooms } = replay(recording, settings);
      total.recordings += 1;
      total.allocs += allocs;
      total.driverCalls += driverCalls;
      total.ooms += ooms;
    }
    console.info(`cold replay: ${JSON.stringify(total)}`);
    expect(total.recordings).toBeGreaterThan(0);
  });
});

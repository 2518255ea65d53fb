/**
 * Recordings that begin with an empty allocator, driven through the model: every address, every call to the driver, and
 * the final blocks must be those torch had. Nothing is fitted: the driver only hands out the recorded addresses.
 */
import { describe, expect, it } from 'vitest';
import type { Block } from '../../src/allocator/caching/block.js';
import { CachingAllocator } from '../../src/allocator/caching/caching-allocator.js';
import type { Driver } from '../../src/allocator/caching/driver.js';
import { isSmall, roundSize } from '../../src/allocator/rounding.js';
import { type AllocatorSettings, settingsFromSnapshot } from '../../src/allocator/settings.js';
import { BackwardWalk } from '../../src/allocator/walk/backward-walk.js';
import { hasPython, SNAPSHOTS, snapshotPickles } from '../support/corpus.js';
import { decode, finalState, type Recording, walkEvents } from './corpus-recordings.js';

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
    malloc: (bytes) => (next()?.[0] === 'segment_alloc' && next()![2] === bytes ? next()![1]! : null),
    free: () => {},
    // The reservation's base is recorded nowhere; it lies at or below the lowest page ever mapped for this stream and
    // size.
    reserve: (_, { stream, kind }) =>
      Math.min(
        ...events.flatMap(([action, addr, , from], i) => {
          if (action !== 'segment_map' || from !== stream) return [];
          const request = events.slice(i).find((event) => event[0] === 'alloc' || event[0] === 'oom')!;
          return isSmall(roundSize(request[2]!, settings)) === (kind === 'small') ? [addr!] : [];
        }),
      ),
    map: (addr, bytes) => next()?.[0] === 'segment_map' && next()![1] === addr && next()![2] === bytes,
    unmap: () => {},
    memory: () => ({ totalBytes: 2 ** 37, freeBytes: next()?.[0] === 'oom' ? (next()![1] ?? 0) : 0, processBytes: 0 }),
  };
  let driverCalls = 0;
  const allocator = new CachingAllocator({
    driver,
    settings,
    trace: ({ action, addr, sizeBytes, stream }) => {
      const recorded = next()!;
      // An `expect` per event would take most of the test's time.
      const sameAddress = action === 'oom' || recorded[1] === addr;
      if (recorded[0] !== action || !sameAddress || recorded[2] !== sizeBytes || recorded[3] !== stream)
        throw new Error(
          `event ${at}: recorded ${recorded.join(' ')}, replayed ${action} ${addr} ${sizeBytes} ${stream}`,
        );
      if (DRIVER_ACTIONS.has(action)) driverCalls += 1;
      at += 1;
    },
  });
  const live = new Map<number, Block<unknown>>();
  let allocs = 0;
  let ooms = 0;
  while (at < events.length) {
    const [action, addr] = next()!;
    if (action === 'free_requested') {
      allocator.free(live.get(addr!)!);
      live.delete(addr!);
      continue;
    }
    if (action === 'snapshot') {
      at += 1;
      continue;
    }
    let target = at;
    while (DRIVER_ACTIONS.has(events[target]?.[0] ?? '')) target += 1;
    const request = events[target];
    const run = events.slice(at, target).map((event) => event[0]);
    const obtains = run.includes('segment_alloc') || run.includes('segment_map');
    if (
      (action === 'segment_free' || action === 'segment_unmap') &&
      (request?.[0] !== 'alloc' || !obtains) &&
      request?.[0] !== 'oom'
    ) {
      allocator.flush();
      continue;
    }
    if (request?.[0] !== 'alloc' && request?.[0] !== 'oom')
      throw new Error(`event ${target}: ${request?.[0]} after a driver call`);
    const result = allocator.malloc(request[2]!, request[3] ?? 0);
    if (result.ok) {
      live.set(result.block.addr, result.block);
      allocs += 1;
    } else ooms += 1;
  }
  const shown = allocator.snapshot();
  const order = (a: readonly unknown[], b: readonly unknown[]): number => Number(a[0]) - Number(b[0]);
  expect(shown.map((segment) => [segment.addr, segment.totalBytes])).toEqual(
    segments.map((segment) => [segment[0], segment[1]]).sort(order),
  );
  expect(shown.flatMap((segment) => segment.blocks.map((block) => [block.addr, block.sizeBytes, block.state]))).toEqual(
    blocks.map(([blockAddr, size, , state]) => [blockAddr, size, state]).sort(order),
  );
  return { allocs, driverCalls, ooms };
}

describe('cold recordings of the corpus, replayed', () => {
  const files = snapshotPickles();
  if (files.length === 0 || !hasPython) {
    console.warn(`SKIPPED: cold replay needs ${hasPython ? 'the corpus (set MBF_CORPUS)' : 'python3'}`);
    it.skip('needs the corpus and python3', () => {});
    return;
  }
  it('give every address, driver call and block', () => {
    const total = { recordings: 0, allocs: 0, driverCalls: 0, ooms: 0 };
    for (const file of files) {
      let decoded: ReturnType<typeof decode>;
      try {
        decoded = decode(`${SNAPSHOTS}/${file}`);
      } catch {
        continue;
      }
      const settings = settingsFromSnapshot(new Map(Object.entries(decoded.settings)));
      for (const recording of decoded.recordings) {
        const walk = new BackwardWalk(finalState(recording), settings);
        walk.undo(walkEvents(recording.events, 0));
        if (!walk.empty || !walk.exact) continue;
        const { allocs, driverCalls, ooms } = replay(recording, settings);
        total.recordings += 1;
        total.allocs += allocs;
        total.driverCalls += driverCalls;
        total.ooms += ooms;
      }
    }
    console.info(`cold replay: ${JSON.stringify(total)}`);
    expect(total.recordings).toBeGreaterThan(0);
  });
});

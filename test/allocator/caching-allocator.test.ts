import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Block } from '../../src/allocator/caching/block.js';
import {
  CachingAllocator,
  type SegmentSnapshot,
  type TraceEntry,
} from '../../src/allocator/caching/caching-allocator.js';
import { createDriver } from '../../src/allocator/caching/driver.js';
import { formatOomSize, oomMessage } from '../../src/allocator/oom-message.js';
import { type AllocatorSettings, DEFAULT_SETTINGS } from '../../src/allocator/settings.js';
import { GIB, KIB, MIB } from '../../src/model/units.js';
import { runs } from '../support/level.js';

const BASE = 0x1000_0000;

function setUp(totalBytes = 64 * GIB, settings: AllocatorSettings = DEFAULT_SETTINGS) {
  const trace: TraceEntry<string>[] = [];
  const driver = createDriver({ totalBytes, baseAddress: BASE });
  const allocator = new CachingAllocator<string>({ driver, settings, trace: (entry) => trace.push(entry) });
  const alloc = (bytes: number, stream = 0, stack: string | null = null): Block<string> => {
    const result = allocator.malloc(bytes, stream, stack);
    if (!result.ok) throw new Error(`unexpected OOM: ${JSON.stringify(result.oom)}`);
    return result.block;
  };
  return { allocator, driver, trace, alloc };
}

/** `action size` of every entry. */
function brief(trace: readonly TraceEntry<string>[]): string[] {
  return trace.map((entry) => `${entry.action} ${entry.sizeBytes}`);
}

function layout(segments: readonly SegmentSnapshot<string>[]): string[] {
  return segments.map(
    (segment) =>
      `${segment.segmentType}@${segment.addr - BASE}: ` +
      segment.blocks.map((block) => `${block.state === 'inactive' ? 'free' : 'used'} ${block.sizeBytes}`).join(', '),
  );
}

describe('placement and splitting', () => {
  it('serves one byte with a 512-byte block of a 2 MiB segment', () => {
    const { allocator, trace, alloc } = setUp();
    expect(alloc(1).addr).toBe(BASE);
    expect(layout(allocator.snapshot())).toEqual([`small@0: used 512, free ${2 * MIB - 512}`]);
    expect(brief(trace)).toEqual([`segment_alloc ${2 * MIB}`, 'alloc 1']);
  });

  it('takes exactly 1 MiB from the small pool and one byte more from the large one', () => {
    const { allocator, alloc } = setUp();
    alloc(1_048_576);
    alloc(1_048_577);
    expect(layout(allocator.snapshot())).toEqual([
      `small@0: used ${MIB}, free ${MIB}`,
      `large@${2 * MIB}: used 1049088, free ${20 * MIB - 1_049_088}`,
    ]);
  });

  it('rounds before choosing the segment, so that 10 485 759 bytes get 10 MiB and not 20', () => {
    const { allocator, alloc } = setUp();
    alloc(10_485_759);
    expect(layout(allocator.snapshot())).toEqual([`large@0: used ${10 * MIB}`]);
  });

  it('hands out a whole 20 MiB block for 19 MiB: a remainder of exactly 1 MiB is not cut off', () => {
    const { allocator, alloc } = setUp();
    allocator.free(alloc(20 * MIB));
    expect(alloc(19 * MIB).sizeBytes).toBe(20 * MIB);
    expect(allocator.statistics.reservedBytes.current).toBe(20 * MIB);
    expect(allocator.statistics.inactiveSplitBytes.current).toBe(0);
  });

  it('cuts the remainder off once it is 512 bytes more than 1 MiB', () => {
    const { allocator, alloc } = setUp();
    allocator.free(alloc(20 * MIB));
    expect(alloc(19 * MIB - 512).sizeBytes).toBe(19 * MIB - 512);
    expect(allocator.statistics.inactiveSplitBytes.current).toBe(MIB + 512);
  });

  it('asks the driver for multiples of 2 MiB and keeps a 1 MiB leftover with the block', () => {
    const { allocator, alloc } = setUp();
    alloc(11 * MIB);
    expect(layout(allocator.snapshot())).toEqual([`large@0: used ${12 * MIB}`]);
  });

  it('reuses the front of a freed block, but no hole that is too small', () => {
    const { allocator, alloc } = setUp();
    const first = alloc(30 * MIB);
    alloc(30 * MIB);
    allocator.free(first);
    expect(alloc(20 * MIB).addr).toBe(BASE);
    expect(alloc(12 * MIB).addr).toBe(BASE + 60 * MIB);
    expect(layout(allocator.snapshot())).toEqual([
      `large@0: used ${20 * MIB}, free ${10 * MIB}`,
      `large@${30 * MIB}: used ${30 * MIB}`,
      `large@${60 * MIB}: used ${12 * MIB}`,
    ]);
  });

  it('takes the smallest block that fits, and among equal ones the lowest address', () => {
    const { allocator, alloc } = setUp();
    const blocks = [alloc(40 * MIB), alloc(30 * MIB), alloc(30 * MIB)];
    for (const block of blocks.toReversed()) allocator.free(block);
    expect(alloc(25 * MIB).addr).toBe(BASE + 40 * MIB);
  });

  it('never reuses a block of another stream', () => {
    const { allocator, alloc } = setUp();
    allocator.free(alloc(30 * MIB, 7));
    expect(alloc(30 * MIB, 0).addr).toBe(BASE + 30 * MIB);
    expect(alloc(30 * MIB, 7).addr).toBe(BASE);
  });

  it.each([
    [300, 300],
    [600, 768],
    [1300, 1536],
    [3000, 3072],
    [100, 100],
  ])('rounds %d MiB to %d MiB with roundup_power2_divisions:[256:1,512:2,1024:4,>:8]', (askedMiB, gotMiB) => {
    const roundupPower2Divisions = [...new Array<number>(9).fill(1), 2, 4, 8, 8, 8, 8, 8];
    const { alloc } = setUp(64 * GIB, { ...DEFAULT_SETTINGS, roundupPower2Divisions });
    expect(alloc(askedMiB * MIB).sizeBytes).toBe(gotMiB * MIB);
  });
});

describe('frees', () => {
  it('joins both neighbours and records requested, then completed', () => {
    const { allocator, trace, alloc } = setUp();
    const blocks = [alloc(2 * MIB), alloc(3 * MIB), alloc(4 * MIB)];
    trace.length = 0;
    allocator.free(blocks[0]!);
    allocator.free(blocks[2]!);
    allocator.free(blocks[1]!);
    expect(layout(allocator.snapshot())).toEqual([`large@0: free ${20 * MIB}`]);
    expect(brief(trace.slice(-2))).toEqual([`free_requested ${3 * MIB}`, `free_completed ${3 * MIB}`]);
  });

  it('carries the stack of the free, or of the allocation if there is none', () => {
    const { allocator, trace, alloc } = setUp();
    allocator.free(alloc(512, 0, 'alloc'), 'free');
    allocator.free(alloc(512, 0, 'alloc'));
    const stacks = trace.filter((entry) => entry.action.startsWith('free')).map((entry) => entry.stack);
    expect(stacks).toEqual(['free', 'free', 'alloc', 'alloc']);
    expect(allocator.snapshot()[0]!.blocks[0]!.stack).toBeNull();
  });

  it('refuses to free a block twice', () => {
    const { allocator, alloc } = setUp();
    const block = alloc(512);
    allocator.free(block);
    expect(() => allocator.free(block)).toThrow(/inactive block/);
  });
});

describe('flush', () => {
  it('returns wholly free segments: the large pool by stream, size and address, then the small pool', () => {
    const { allocator, trace, alloc } = setUp();
    const kept = alloc(2 * MIB);
    const blocks = [alloc(30 * MIB, 9), alloc(1), alloc(40 * MIB), alloc(32 * MIB), alloc(32 * MIB), alloc(2 * MIB, 9)];
    for (const block of blocks) allocator.free(block);
    trace.length = 0;
    allocator.flush('flush', 5);
    expect(trace.map((entry) => [entry.action, entry.stream, entry.sizeBytes / MIB, entry.addr! - BASE])).toEqual([
      ['segment_free', 0, 32, 92 * MIB],
      ['segment_free', 0, 32, 124 * MIB],
      ['segment_free', 0, 40, 52 * MIB],
      ['segment_free', 9, 20, 156 * MIB],
      ['segment_free', 9, 30, 20 * MIB],
      ['segment_free', 0, 2, 50 * MIB],
    ]);
    expect(trace.every((entry) => entry.stack === 'flush' && entry.timeUs === 5)).toBe(true);
    expect(layout(allocator.snapshot())).toEqual([`large@0: used ${2 * MIB}, free ${18 * MIB}`]);
    allocator.free(kept);
    allocator.flush();
    expect(allocator.statistics).toMatchObject({
      reservedBytes: { current: 0, peak: 176 * MIB },
      segment: { current: 0, peak: 7 },
    });
  });

  it('happens inside a malloc the driver refuses, before the new segment', () => {
    const { allocator, trace, alloc } = setUp(100 * MIB);
    for (const block of [alloc(30 * MIB), alloc(40 * MIB)]) allocator.free(block);
    trace.length = 0;
    const block = alloc(50 * MIB, 0, 'retry');
    expect(brief(trace)).toEqual([
      `segment_free ${30 * MIB}`,
      `segment_free ${40 * MIB}`,
      `segment_alloc ${50 * MIB}`,
      `alloc ${50 * MIB}`,
    ]);
    expect(trace.every((entry) => entry.stack === 'retry')).toBe(true);
    expect(block.sizeBytes).toBe(50 * MIB);
    expect(allocator.statistics).toMatchObject({ numAllocRetries: 1, numOoms: 0 });
  });
});

describe('out of memory', () => {
  it('is a result with the numbers of the message; the trace shows the rounded request and the device free bytes', () => {
    const trace: TraceEntry<string>[] = [];
    const driver = createDriver({ totalBytes: 100 * MIB, nonTorchBytes: 10 * MIB, otherProcessBytes: 5 * MIB });
    const allocator = new CachingAllocator<string>({ driver, trace: (entry) => trace.push(entry) });
    const held = allocator.malloc(2 * MIB, 0);
    const cached = allocator.malloc(30 * MIB, 0);
    if (!held.ok || !cached.ok) throw new Error('unexpected OOM');
    allocator.free(cached.block);
    trace.length = 0;
    const result = allocator.malloc(65 * MIB + 1, 3, 'here', 77);
    expect(result).toEqual({
      ok: false,
      oom: {
        requestedBytes: 65 * MIB + 1,
        roundedBytes: 65 * MIB + 512,
        segmentBytes: 66 * MIB,
        stream: 3,
        deviceTotalBytes: 100 * MIB,
        deviceFreeBytes: 65 * MIB,
        processBytes: 30 * MIB,
        allowedBytes: null,
        allocatedBytes: 2 * MIB,
        reservedBytes: 20 * MIB,
        privatePoolFreeBytes: 0,
      },
    });
    expect(brief(trace)).toEqual([`segment_free ${30 * MIB}`, `oom ${65 * MIB + 512}`]);
    expect(trace[1]).toEqual({
      action: 'oom',
      addr: null,
      sizeBytes: 65 * MIB + 512,
      stream: 3,
      poolId: [0, 0],
      timeUs: 77,
      deviceFreeBytes: 65 * MIB,
      stack: 'here',
    });
    expect(allocator.statistics).toMatchObject({ numAllocRetries: 1, numOoms: 1 });
    if (result.ok) return;
    expect(oomMessage(result.oom, 2)).toBe(
      'CUDA out of memory. Tried to allocate 66.00 MiB. GPU 2 has a total capacity of 100.00 MiB of which 65.00 MiB is free. ' +
        'Including non-PyTorch memory, this process has 30.00 MiB memory in use. Of the allocated memory 2.00 MiB is allocated by ' +
        'PyTorch, and 18.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting ' +
        'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  ' +
        '(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)',
    );
  });

  it('counts memory outside the allocator against the same budget', () => {
    const driver = createDriver({ totalBytes: 64 * MIB });
    const allocator = new CachingAllocator({ driver });
    expect(driver.setNonTorchBytes(40 * MIB)).toBe(true);
    expect(allocator.malloc(30 * MIB, 0).ok).toBe(false);
    expect(driver.setNonTorchBytes(30 * MIB)).toBe(true);
    expect(allocator.malloc(30 * MIB, 0).ok).toBe(true);
    expect(driver.setNonTorchBytes(40 * MIB)).toBe(false);
  });

  it.each([
    [1, '1 bytes'],
    [KIB, '1024 bytes'],
    [KIB + 512, '1.50 KiB'],
    [MIB, '1024.00 KiB'],
    [GIB, '1024.00 MiB'],
    [79.109375 * GIB, '79.11 GiB'],
    [2048 * GIB, '2048.00 GiB'],
    // Ties as CPython's and glibc's printf round them.
    [317.625 * MIB, '317.62 MiB'],
    [2.375 * MIB, '2.38 MiB'],
    [1.125 * KIB, '1.12 KiB'],
  ])('prints %d bytes as %s', (bytes, text) => {
    expect(formatOomSize(bytes)).toBe(text);
  });
});

describe('refusals', () => {
  it.each([0, -1, 1.5, Number.NaN, 2 ** 60])('refuses a request of %d bytes', (bytes) => {
    expect(() => setUp().allocator.malloc(bytes, 0)).toThrow(/malloc of/);
  });
});

// ---------------------------------------------------------------------------------------------------------------------
// Random histories, checked against the slowest implementation that can be written down: no links, no ordered set, only
// a list of segments with used ranges; gaps are recomputed for every request.

interface NaiveSegment {
  readonly addr: number;
  readonly size: number;
  readonly stream: number;
  readonly small: boolean;
  readonly used: { addr: number; size: number }[];
}

function gapsOf(segment: NaiveSegment): { addr: number; size: number }[] {
  const gaps: { addr: number; size: number }[] = [];
  let at = segment.addr;
  for (const range of [...segment.used, { addr: segment.addr + segment.size, size: 0 }].sort(
    (a, b) => a.addr - b.addr,
  )) {
    if (range.addr > at) gaps.push({ addr: at, size: range.addr - at });
    at = range.addr + range.size;
  }
  return gaps;
}

function naiveAllocator(budget: number) {
  let segments: NaiveSegment[] = [];
  let next = BASE;
  const reserved = (): number => segments.reduce((sum, segment) => sum + segment.size, 0);
  const flush = (): void => {
    segments = segments.filter((segment) => segment.used.length > 0);
  };
  const malloc = (bytes: number, stream: number): number | null => {
    const size = Math.max(1, Math.ceil(bytes / 512)) * 512;
    const small = size <= MIB;
    const fits = segments
      .filter((segment) => segment.stream === stream && segment.small === small)
      .flatMap((segment) => gapsOf(segment).map((gap) => ({ ...gap, segment })))
      .filter((gap) => gap.size >= size)
      .sort((a, b) => a.size - b.size || a.addr - b.addr);
    let place = fits[0];
    if (place === undefined) {
      const segmentSize = small ? 2 * MIB : size < 10 * MIB ? 20 * MIB : Math.ceil(size / (2 * MIB)) * 2 * MIB;
      if (reserved() + segmentSize > budget) flush();
      if (reserved() + segmentSize > budget) return null;
      const segment: NaiveSegment = { addr: next, size: segmentSize, stream, small, used: [] };
      next += segmentSize;
      segments.push(segment);
      place = { addr: segment.addr, size: segmentSize, segment };
    }
    const rest = place.size - size;
    const kept = small ? rest < 512 : rest <= MIB;
    place.segment.used.push({ addr: place.addr, size: kept ? place.size : size });
    return place.addr;
  };
  const free = (addr: number): void => {
    const segment = segments.find((candidate) => candidate.used.some((range) => range.addr === addr))!;
    const index = segment.used.findIndex((range) => range.addr === addr);
    segment.used.splice(index, 1);
  };
  return { malloc, free, flush, reserved, segments: () => segments };
}

type Step =
  | { readonly kind: 'malloc'; readonly bytes: number; readonly stream: number }
  | { readonly kind: 'free'; readonly pick: number }
  | { readonly kind: 'flush' };

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('malloc' as const),
      bytes: fc.oneof(
        fc.integer({ min: 1, max: 4096 }),
        fc.integer({ min: 1, max: 2 * MIB }),
        fc.integer({ min: MIB, max: 24 * MIB }),
        fc.integer({ min: MIB, max: 200 * MIB }),
        // Round sizes, where the boundaries of the rules and the ties are.
        fc.integer({ min: 1, max: 40 }).map((halves) => halves * (MIB / 2)),
      ),
      stream: fc.constantFrom(0, 0, 0, 94_000_000_000_000),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('free' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'flush' as const }) },
);

/** What the trace alone says is there: segments, and the requested bytes of every live block. */
function walk(trace: readonly TraceEntry<string>[]): { segments: Map<number, number>; live: Map<number, number> } {
  const segments = new Map<number, number>();
  const live = new Map<number, number>();
  for (const { action, addr, sizeBytes } of trace) {
    if (addr === null) continue;
    if (action === 'segment_alloc') segments.set(addr, sizeBytes);
    else if (action === 'alloc') {
      expect(live.has(addr)).toBe(false);
      live.set(addr, sizeBytes);
    } else if (action === 'free_completed') {
      expect(live.get(addr)).toBe(sizeBytes);
      live.delete(addr);
    } else if (action === 'segment_free') {
      expect(segments.get(addr)).toBe(sizeBytes);
      segments.delete(addr);
    }
  }
  return { segments, live };
}

function checkState(allocator: CachingAllocator<string>, trace: readonly TraceEntry<string>[], budget: number): void {
  const segments = allocator.snapshot();
  const { statistics } = allocator;
  let end = 0;
  let inactiveSplit = 0;
  for (const segment of segments) {
    expect(segment.addr).toBeGreaterThanOrEqual(end);
    end = segment.addr + segment.totalBytes;
    let at = segment.addr;
    let wasFree = false;
    for (const block of segment.blocks) {
      expect(block.addr).toBe(at);
      expect(block.sizeBytes % 512).toBe(0);
      at += block.sizeBytes;
      const isFree = block.state === 'inactive';
      expect(isFree && wasFree).toBe(false);
      if (isFree && segment.blocks.length > 1) inactiveSplit += block.sizeBytes;
      if (isFree && segment.segmentType === 'large') expect(block.sizeBytes).toBeGreaterThan(MIB);
      if (!isFree) expect(block.requestedBytes).toBeLessThanOrEqual(block.sizeBytes);
      wasFree = isFree;
    }
    expect(at).toBe(end);
  }
  const sum = (value: (segment: SegmentSnapshot<string>) => number): number =>
    segments.reduce((total, segment) => total + value(segment), 0);
  expect(statistics.reservedBytes.current).toBe(sum((segment) => segment.totalBytes));
  expect(statistics.allocatedBytes.current).toBe(sum((segment) => segment.allocatedBytes));
  expect(statistics.activeBytes.current).toBe(sum((segment) => segment.activeBytes));
  expect(statistics.requestedBytes.current).toBe(sum((segment) => segment.requestedBytes));
  expect(statistics.inactiveSplitBytes.current).toBe(inactiveSplit);
  expect(statistics.segment.current).toBe(segments.length);
  expect(statistics.reservedBytes.peak).toBeLessThanOrEqual(budget);

  const walked = walk(trace);
  expect([...walked.segments].sort(([a], [b]) => a - b)).toEqual(
    segments.map((segment) => [segment.addr, segment.totalBytes]),
  );
  const active = segments.flatMap((segment) => segment.blocks.filter((block) => block.state !== 'inactive'));
  expect([...walked.live].sort(([a], [b]) => a - b)).toEqual(active.map((block) => [block.addr, block.requestedBytes]));
  expect(statistics.allocation.current).toBe(active.length);
}

describe('random histories', () => {
  it('keep every invariant, replay from their trace, and agree with the naive allocator', () => {
    let ooms = 0;
    let retries = 0;
    let reused = 0;
    fc.assert(
      fc.property(
        fc.array(stepArbitrary, { minLength: 10, maxLength: 120, size: 'max' }),
        fc.integer({ min: 64, max: 2048 }),
        (steps, budgetMiB) => {
          const budget = budgetMiB * MIB;
          const { allocator, trace } = setUp(budget);
          const naive = naiveAllocator(budget);
          const live: Block<string>[] = [];
          for (const step of steps) {
            if (step.kind === 'malloc') {
              const before = trace.length;
              const result = allocator.malloc(step.bytes, step.stream);
              expect(result.ok ? result.block.addr : null).toBe(naive.malloc(step.bytes, step.stream));
              if (result.ok) live.push(result.block);
              else ooms += 1;
              if (result.ok && trace.length === before + 1) reused += 1;
            } else if (step.kind === 'free') {
              const [block] = live.splice(live.length === 0 ? 0 : step.pick % live.length, 1);
              if (block === undefined) continue;
              naive.free(block.addr);
              allocator.free(block);
            } else {
              naive.flush();
              allocator.flush();
            }
            expect(allocator.statistics.reservedBytes.current).toBe(naive.reserved());
          }
          retries += allocator.statistics.numAllocRetries - allocator.statistics.numOoms;
          checkState(allocator, trace, budget);
          const free = allocator
            .snapshot()
            .flatMap((segment) =>
              segment.blocks
                .filter((block) => block.state === 'inactive')
                .map((block) => [block.addr, block.sizeBytes]),
            );
          const gaps = naive.segments().flatMap((segment) => gapsOf(segment).map((gap) => [gap.addr, gap.size]));
          expect(free).toEqual(gaps.sort((a, b) => a[0]! - b[0]!));
        },
      ),
      { numRuns: runs(200, 1500), seed: 20260822 },
    );
    // The run is only worth something if it went through the rare paths.
    expect(ooms).toBeGreaterThan(runs(13, 100));
    expect(retries).toBeGreaterThan(runs(13, 100));
    expect(reused).toBeGreaterThan(runs(130, 1000));
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MIB } from '../../src/model/units.js';
import { runs } from '../support/level.js';
import { checkInvariants, checkOom, history, play } from './history.js';

describe('random histories over all settings', () => {
  it('keep every invariant, and their trace gives the state', () => {
    const seen = new Map<string, number>();
    const count = (what: string, by = 1): void => {
      seen.set(what, (seen.get(what) ?? 0) + by);
    };
    fc.assert(
      fc.property(history, (past) => {
        const played = play(past, (now) => checkInvariants(now, past.budgetMiB * MIB));
        for (const report of played.ooms) checkOom(report, played.settings);
        count('oom', played.ooms.length);
        count('retry that helped', played.allocator.statistics.numAllocRetries - played.ooms.length);
        for (const { action, poolId } of played.trace) {
          count(action);
          if (poolId[0] + poolId[1] > 0) count(`${action} in a private pool`);
        }
      }),
      { numRuns: runs(3000, 10_000), seed: 20_261_121 },
    );
    // The run is only worth something if it went through the rare paths.
    const mapped = ['segment_free', 'segment_unmap', 'alloc in a private pool', 'segment_map in a private pool'];
    for (const path of ['oom', ...mapped]) expect(seen.get(path), path).toBeGreaterThan(runs(600, 2000));
  });
});

// The slowest implementation that can be written down: no links, no ordered set, only a list of segments with used
// ranges; gaps are recomputed for every request.

interface Range {
  readonly addr: number;
  readonly size: number;
}

interface NaiveSegment extends Range {
  readonly stream: number;
  readonly small: boolean;
  readonly used: Range[];
}

function gapsOf({ addr, size, used }: NaiveSegment): Range[] {
  const gaps: Range[] = [];
  let at = addr;
  for (const range of [...used, { addr: addr + size, size: 0 }].sort((a, b) => a.addr - b.addr)) {
    if (range.addr > at) gaps.push({ addr: at, size: range.addr - at });
    at = range.addr + range.size;
  }
  return gaps;
}

function naiveAllocator(budget: number) {
  let segments: NaiveSegment[] = [];
  let next = 2 ** 45;
  const reserved = (): number => segments.reduce((sum, segment) => sum + segment.size, 0);
  const flush = (): void => {
    segments = segments.filter(({ used }) => used.length > 0);
  };
  const malloc = (bytes: number, stream: number): number | null => {
    const size = Math.max(1, Math.ceil(bytes / 512)) * 512;
    const small = size <= MIB;
    let [place] = segments
      .filter((segment) => segment.stream === stream && segment.small === small)
      .flatMap((segment) => gapsOf(segment).map((gap) => ({ ...gap, used: segment.used })))
      .filter((gap) => gap.size >= size)
      .sort((a, b) => a.size - b.size || a.addr - b.addr);
    if (place === undefined) {
      const segmentSize = small ? 2 * MIB : size < 10 * MIB ? 20 * MIB : Math.ceil(size / (2 * MIB)) * 2 * MIB;
      if (reserved() + segmentSize > budget) flush();
      if (reserved() + segmentSize > budget) return null;
      place = { addr: next, size: segmentSize, used: [] };
      segments.push({ ...place, stream, small });
      next += segmentSize;
    }
    const remainder = place.size - size;
    const isWhole = small ? remainder < 512 : remainder <= MIB;
    place.used.push({ addr: place.addr, size: isWhole ? place.size : size });
    return place.addr;
  };
  const free = (addr: number): void => {
    for (const { used } of segments) {
      const at = used.findIndex((range) => range.addr === addr);
      if (at >= 0) used.splice(at, 1);
    }
  };
  return { malloc, free, flush, reserved, gaps: () => segments.flatMap(gapsOf) };
}

describe('random histories with the default settings', () => {
  it('keep every invariant, and give the addresses, OOMs and gaps of the naive allocator', () => {
    const seen = { ooms: 0, retries: 0, reused: 0 };
    const kinds: ReadonlySet<string> = new Set(['malloc', 'free', 'flush']);
    fc.assert(
      fc.property(history, (any) => {
        const steps = any.steps.filter(({ kind }) => kinds.has(kind));
        const plain = { conf: '', memoryFraction: undefined, release: '2.7', direction: 'ascending' } as const;
        const past = { ...any, ...plain, steps };
        const { allocator, trace } = play(past, (played) => checkInvariants(played, past.budgetMiB * MIB));
        const naive = naiveAllocator(past.budgetMiB * MIB);
        let reserved = 0;
        for (const [index, step] of steps.entries()) {
          const entries = trace.filter(({ timeUs }) => timeUs === index);
          for (const { action, sizeBytes } of entries) {
            if (action === 'segment_alloc') reserved += sizeBytes;
            else if (action === 'segment_free') reserved -= sizeBytes;
          }
          const last = entries.at(-1);
          if (step.kind === 'malloc') {
            expect(naive.malloc(step.bytes, step.stream)).toBe(last!.addr);
            if (last!.action === 'oom') seen.ooms += 1;
            else if (entries.length === 1) seen.reused += 1;
          } else if (step.kind === 'free' && last !== undefined) naive.free(last.addr!);
          else if (step.kind === 'flush') naive.flush();
          expect(reserved).toBe(naive.reserved());
        }
        seen.retries += allocator.statistics.numAllocRetries - allocator.statistics.numOoms;
        const blocks = allocator.snapshot().flatMap((segment) => segment.blocks);
        const free = blocks.filter(({ state }) => state === 'inactive');
        expect(free.map(({ addr, sizeBytes }) => ({ addr, size: sizeBytes }))).toEqual(
          naive.gaps().sort((a, b) => a.addr - b.addr),
        );
      }),
      { numRuns: 1500, seed: 20260822 },
    );
    // The run is only worth something if it went through the rare paths.
    expect(seen.ooms).toBeGreaterThan(100);
    expect(seen.retries).toBeGreaterThan(100);
    expect(seen.reused).toBeGreaterThan(1000);
  });
});

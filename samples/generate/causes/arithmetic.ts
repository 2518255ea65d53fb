/** The sums that make a cause true, from the allocator's own state. */
import type { SegmentSnapshot } from '../../../src/allocator/caching/caching-allocator.js';
import type { OomReport } from '../../../src/allocator/oom-report.js';
import type { SimulatedRank } from '../run.js';

export interface OomArithmetic {
  /** What is in use plus what was asked. */
  readonly liveBytes: number;
  readonly requestBytes: number;
  /** All this process could have had: its reserve and what the device had free, within its memory fraction. */
  readonly budgetBytes: number;
  readonly reservedBytes: number;
  /** On the device, outside this process's allocator. */
  readonly outsideBytes: number;
  /** Positive: live and request fit the budget and leave so much. */
  readonly spareBytes: number;
}

export function oomArithmetic(report: OomReport): OomArithmetic {
  const free = report.reservedBytes + report.deviceFreeBytes;
  const budgetBytes = Math.min(free, report.allowedBytes ?? Number.POSITIVE_INFINITY);
  return {
    liveBytes: report.allocatedBytes,
    requestBytes: report.roundedBytes,
    budgetBytes,
    reservedBytes: report.reservedBytes,
    outsideBytes: report.deviceTotalBytes - free,
    spareBytes: budgetBytes - report.allocatedBytes - report.roundedBytes,
  };
}

export interface Holes {
  readonly totalBytes: number;
  readonly largestBytes: number;
  readonly count: number;
}

/** Free blocks in segments that `of` accepts. */
export function holesIn<S>(
  segments: readonly SegmentSnapshot<S>[],
  of: (segment: SegmentSnapshot<S>) => boolean,
): Holes {
  let totalBytes = 0;
  let largestBytes = 0;
  let count = 0;
  for (const segment of segments) {
    if (!of(segment)) continue;
    for (const block of segment.blocks) {
      if (block.state !== 'inactive') continue;
      totalBytes += block.sizeBytes;
      largestBytes = Math.max(largestBytes, block.sizeBytes);
      count += 1;
    }
  }
  return { totalBytes, largestBytes, count };
}

export type OomRank = SimulatedRank & { readonly ending: Extract<SimulatedRank['ending'], { kind: 'oom' }> };

export function ranOutOfMemory(rank: SimulatedRank): rank is OomRank {
  return rank.ending.kind === 'oom';
}

/** The ranks that failed on their own, first one first. */
export function failedRanks(ranks: readonly SimulatedRank[]): SimulatedRank[] {
  const own = new Set(['oom', 'raised', 'signalled']);
  return ranks.filter((rank) => own.has(rank.ending.kind)).toSorted((a, b) => a.process.now() - b.process.now());
}

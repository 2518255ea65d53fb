/** What the fragmentation causes share: enough is free in sum, and no free block may serve the request. */
import type { SegmentSnapshot } from '../../../src/allocator/caching/caching-allocator.js';
import { GIB, MIB } from '../../../src/model/units.js';
import type { RunTruth } from '../run.js';
import type { Traceback } from '../simulate/rank-process.js';
import { type Holes, holesIn, type OomArithmetic, type OomRank, oomArithmetic } from './arithmetic.js';
import { gib } from './generated-cause.js';

/** Free memory at the OOM by the reason the request could not have it. */
export interface FreeByReason {
  /** Pool, size class and stream of the request: only too small. */
  readonly usable: Holes;
  readonly otherStream: Holes;
  /** The small pool's. */
  readonly otherClass: Holes;
}

export function freeByReason(rank: OomRank): FreeByReason {
  const segments = rank.process.allocator.snapshot();
  const { stream } = rank.ending.report;
  const isDefault = (segment: SegmentSnapshot<Traceback>): boolean =>
    segment.poolId[0] === 0 && segment.poolId[1] === 0;
  const large = (segment: SegmentSnapshot<Traceback>): boolean => isDefault(segment) && segment.segmentType === 'large';
  return {
    usable: holesIn(segments, (segment) => large(segment) && segment.stream === stream),
    otherStream: holesIn(segments, (segment) => large(segment) && segment.stream !== stream),
    otherClass: holesIn(segments, (segment) => isDefault(segment) && segment.segmentType === 'small'),
  };
}

export interface Fragmentation {
  readonly sums: OomArithmetic;
  readonly free: FreeByReason;
}

/**
 * Undefined unless live and request fit by a clear margin and no free block of the request's own class is large enough.
 */
export function fragmentationOf(rank: OomRank): Fragmentation | undefined {
  const sums = oomArithmetic(rank.ending.report);
  if (sums.spareBytes < Math.max(256 * MIB, 0.01 * sums.budgetBytes)) return undefined;
  const free = freeByReason(rank);
  return free.usable.largestBytes < sums.requestBytes ? { sums, free } : undefined;
}

export function fragmentationNumbers({ sums, free }: Fragmentation): RunTruth['numbers'] {
  return {
    live_bytes: sums.liveBytes,
    request_bytes: sums.requestBytes,
    budget_bytes: sums.budgetBytes,
    spare_bytes: sums.spareBytes,
    outside_bytes: sums.outsideBytes,
    free_usable_bytes: free.usable.totalBytes,
    largest_usable_bytes: free.usable.largestBytes,
    free_other_stream_bytes: free.otherStream.totalBytes,
    free_small_pool_bytes: free.otherClass.totalBytes,
  };
}

/** `On rank 2 … live and asked fit …`: the first half of every such sentence. */
export function fitsInSum(rank: OomRank, { sums, free }: Fragmentation): string {
  return (
    `On rank ${rank.rank} ${gib(sums.liveBytes)} live and ${gib(sums.requestBytes)} asked fit the ${gib(sums.budgetBytes)} the process could ` +
    `have, with ${gib(sums.spareBytes)} to spare; the largest free block it may use has ${gib(free.usable.largestBytes)}`
  );
}

/** The least amount of unusable free memory that makes a story. */
export const LEAST_UNUSABLE_BYTES = GIB;

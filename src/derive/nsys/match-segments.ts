/**
 * Which allocations of the driver are segments of PyTorch: by address and size, and by time if an address was used more
 * than once.
 */

import { threshold } from '../../knowledge/thresholds/threshold.js';
import { groupBy } from '../../model/group-by.js';
import { median } from '../../model/median.js';
import type { NsysAlignment } from '../../model/results/nsys.js';
import type { DriverAllocation } from './driver-allocation.js';

/**
 * A segment over the recording of a snapshot. Times in µs of the snapshot's clock; null: before the recording, or held
 * at the dump.
 */
export interface TorchSegment {
  readonly address: number;
  readonly bytes: number;
  readonly allocUs: number | null;
  readonly freeUs: number | null;
}

export interface SegmentMatch {
  /** Indices of allocations that are segments. */
  readonly matched: ReadonlySet<number>;
  /** How many of them by their addresses, which distinguish processes. */
  readonly byAddress: number;
  readonly alignment: NsysAlignment;
  /** Segments held at the dump without an allocation. */
  readonly unseenBytes: number;
  /**
   * Indices of allocations that were freed before the recording or made after it: the snapshot has no information about
   * them.
   */
  readonly unrecorded: ReadonlySet<number>;
  /**
   * The blocks agree, but at a very different time: the snapshot is of another launch, which got the same addresses.
   */
  readonly isOfAnother: boolean;
}

const LEAST_PAIRS = threshold('nsys.least_pairs');
const NOMINAL_TOLERANCE_US = threshold('nsys.nominal_tolerance_us');
const LEAST_TOLERANCE_US = threshold('nsys.least_tolerance_us');
const SIZE_TOLERANCE_US = threshold('nsys.size_tolerance_us');
const MOST_SKEW_US = threshold('nsys.most_skew_us');

/**
 * `isClaimed`: other evidence shows the owner of an allocation, so that its size alone does not make it PyTorch's.
 * `allocations` are those of one process. `offsetUs` converts their clock to UTC; null if the report does not contain
 * it. Time decides only between allocations of the same address and size, and for those that the driver took back
 * before the recording ended: both numbers are of one process, so they agree only if it is the same block.
 */
export function matchSegments(
  allocations: readonly DriverAllocation[],
  segments: readonly TorchSegment[],
  offsetUs: number | null,
  { firstUs, lastUs }: { readonly firstUs: number | null; readonly lastUs: number | null },
  isClaimed: (allocation: DriverAllocation) => boolean = () => false,
): SegmentMatch {
  const onDevice = indicesOf(allocations, ({ kind }) => kind === 'device');
  const byBlock = groupBy(onDevice, (index) => `${allocations[index]!.address}/${allocations[index]!.bytes}`);
  const bySegment = groupBy(segments, ({ address, bytes }) => `${address}/${bytes}`);
  const { alignment, spreadUs } = align(allocations, byBlock, bySegment, offsetUs);
  if (offsetUs !== null && Math.abs(alignment.correction_us ?? 0) > MOST_SKEW_US) {
    const held = segments.filter(({ freeUs }) => freeUs === null);
    return {
      matched: new Set(),
      byAddress: 0,
      alignment: { by: 'nominal', pairs: 0, correction_us: null, error_us: null },
      unseenBytes: held.reduce((sum, { bytes }) => sum + bytes, 0),
      unrecorded: new Set(),
      isOfAnother: true,
    };
  }
  const toUs = (ns: number): number => (offsetUs ?? 0) + ns / 1000 + (alignment.correction_us ?? 0);
  const tolerance =
    alignment.by === 'pairs'
      ? Math.max(LEAST_TOLERANCE_US, 20 * spreadUs)
      : offsetUs === null
        ? Number.POSITIVE_INFINITY
        : NOMINAL_TOLERANCE_US;
  // Without either kind of clock, the order of an allocation and the dump is unknown.
  const hasClock = offsetUs !== null || alignment.by === 'pairs';
  const endUs = hasClock ? lastUs : null;

  const matched = new Set<number>();
  const matchedSegments = new Set<TorchSegment>();
  for (const [key, list] of bySegment) {
    const candidates = byBlock.get(key) ?? [];
    const pairs = list.flatMap((segment) =>
      candidates.flatMap((index) => {
        const distance = distanceUs(allocations[index]!, segment, toUs, endUs);
        return distance === undefined || distance > tolerance ? [] : [{ segment, index, distance }];
      }),
    );
    takeClosest(pairs, matched, matchedSegments);
  }
  const byAddress = matched.size;
  if (hasClock) {
    const near = Math.max(SIZE_TOLERANCE_US, 10 * spreadUs);
    matchBySize(allocations, segments, { matched, matchedSegments }, isClaimed, toUs, near);
  }
  let unseenBytes = 0;
  for (const segment of segments)
    if (segment.freeUs === null && !matchedSegments.has(segment)) unseenBytes += segment.bytes;
  const isUnrecorded = ({ allocNs, freeNs }: DriverAllocation): boolean =>
    // Without a trace, a snapshot contains only what was held at the dump.
    (freeNs !== null && (firstUs === null || (hasClock && toUs(freeNs) < firstUs))) ||
    (allocNs !== null && lastUs !== null && hasClock && toUs(allocNs) > lastUs);
  const unrecorded = new Set(indicesOf(allocations, (one, i) => !matched.has(i) && isUnrecorded(one)));
  return { matched, byAddress, alignment, unseenBytes, unrecorded, isOfAnother: false };
}

/**
 * Segments whose addresses the driver never returned (a snapshot whose addresses were changed before it was shared): by
 * size, and the time of allocation. Each takes the nearest, the closest pairs first.
 */
function matchBySize(
  allocations: readonly DriverAllocation[],
  segments: readonly TorchSegment[],
  { matched, matchedSegments }: { readonly matched: Set<number>; readonly matchedSegments: Set<TorchSegment> },
  isClaimed: (allocation: DriverAllocation) => boolean,
  toUs: (ns: number) => number,
  toleranceUs: number,
): void {
  const driverAddresses = new Set(allocations.map(({ address }) => address));
  const unclaimed = indicesOf(
    allocations,
    (allocation, index) =>
      allocation.kind === 'device' && allocation.allocNs !== null && !matched.has(index) && !isClaimed(allocation),
  );
  const bySize = groupBy(unclaimed, (index) => allocations[index]!.bytes);
  const pairs = segments
    .filter(
      (segment) => segment.allocUs !== null && !matchedSegments.has(segment) && !driverAddresses.has(segment.address),
    )
    .flatMap((segment) =>
      (bySize.get(segment.bytes) ?? []).map((index) => ({
        segment,
        index,
        distance: Math.abs(toUs(allocations[index]!.allocNs!) - segment.allocUs!),
      })),
    )
    .filter(({ distance }) => distance <= toleranceUs);
  takeClosest(pairs, matched, matchedSegments);
}

interface Pair {
  readonly segment: TorchSegment;
  readonly index: number;
  readonly distance: number;
}

/** The closest pairs first, so that a worse one does not take their place. */
function takeClosest(pairs: Pair[], matched: Set<number>, matchedSegments: Set<TorchSegment>): void {
  for (const { segment, index } of pairs.sort((a, b) => a.distance - b.distance || a.index - b.index)) {
    if (matchedSegments.has(segment) || matched.has(index)) continue;
    matchedSegments.add(segment);
    matched.add(index);
  }
}

function indicesOf<Row>(rows: readonly Row[], wanted: (row: Row, index: number) => boolean): number[] {
  return rows.flatMap((row, index) => (wanted(row, index) ? [index] : []));
}

/**
 * The time between the two lives; undefined if they cannot be one. A segment without a recorded beginning is compared
 * by its end; one held throughout the recording matches a block that the driver held as long.
 */
function distanceUs(
  { allocNs, freeNs }: DriverAllocation,
  { allocUs, freeUs }: TorchSegment,
  toUs: (ns: number) => number,
  dumpUs: number | null,
): number | undefined {
  if (allocUs !== null && allocNs !== null) return Math.abs(toUs(allocNs) - allocUs);
  if (freeUs !== null) return freeNs === null ? undefined : Math.abs(toUs(freeNs) - freeUs);
  // Held at the dump: a block that the driver returned after that, or took back before, is another block.
  if (dumpUs !== null && allocNs !== null && toUs(allocNs) > dumpUs) return undefined;
  if (freeNs === null) return 0;
  return dumpUs !== null && toUs(freeNs) < dumpUs ? undefined : 1;
}

/**
 * Aligns the clocks by blocks that occur once on each side. Some of them may be two blocks, each recorded on one side
 * only: the spread is that of most of them.
 */
function align(
  allocations: readonly DriverAllocation[],
  byBlock: ReadonlyMap<string, readonly number[]>,
  bySegment: ReadonlyMap<string, readonly TorchSegment[]>,
  offsetUs: number | null,
): { readonly alignment: NsysAlignment; readonly spreadUs: number } {
  const differences: number[] = [];
  for (const [key, list] of bySegment) {
    const candidates = byBlock.get(key) ?? [];
    if (list.length !== 1 || candidates.length !== 1) continue;
    const { allocNs, freeNs } = allocations[candidates[0]!]!;
    const { allocUs, freeUs } = list[0]!;
    if (allocNs !== null && allocUs !== null) differences.push(allocUs - (offsetUs ?? 0) - allocNs / 1000);
    else if (freeNs !== null && freeUs !== null) differences.push(freeUs - (offsetUs ?? 0) - freeNs / 1000);
  }
  differences.sort((a, b) => a - b);
  const pairs = differences.length;
  if (pairs < LEAST_PAIRS)
    return { alignment: { by: 'nominal', pairs, correction_us: null, error_us: null }, spreadUs: 0 };
  const at = (share: number): number => differences[Math.min(pairs - 1, Math.floor(share * pairs))]!;
  const middle = median(differences);
  const spreadUs = median(differences.map((difference) => Math.abs(difference - middle)));
  return {
    alignment: { by: 'pairs', pairs, correction_us: middle, error_us: (at(0.95) - at(0.05)) / 2 },
    spreadUs,
  };
}

/**
 * Which memory snapshot belongs to which process of a report: the addresses of its segments show it, as both are of one
 * address space.
 */
import type { Store } from '../../store/store.js';
import type { DriverAllocation } from './driver-allocation.js';
import { matchSegments, type SegmentMatch, type TorchSegment } from './match-segments.js';
import { ownerOf } from './owner-rules.js';

export interface MatchedSnapshot {
  readonly snapshotId: number;
  readonly handle: string;
  readonly rank: number | null;
  readonly device: number;
  /** Of the first and of the last entry; null without a trace. */
  readonly firstUs: number | null;
  readonly lastUs: number | null;
}

export interface ProcessMatch {
  readonly snapshot: MatchedSnapshot;
  /** CUDA ordinal inside the process. */
  readonly device: number | null;
  readonly result: SegmentMatch;
}

export interface ProcessFacts {
  /** UTC of time 0 of the report, µs. */
  readonly clockOffsetUs: number | null;
  /** Known ranks of processes. */
  readonly ranks: ReadonlyMap<number, number>;
}

/** The snapshot that shares most blocks with the process; otherwise the one of its rank. */
export async function matchProcess(
  store: Store,
  snapshots: readonly MatchedSnapshot[],
  pid: number,
  allocations: readonly DriverAllocation[],
  about: ProcessFacts,
): Promise<ProcessMatch | undefined> {
  let best: (ProcessMatch & { readonly rating: Rating }) | undefined;
  for (const snapshot of snapshots) {
    const segments = await readSegments(store, snapshot);
    const result = matchSegments(allocations, segments, about.clockOffsetUs, snapshot, isClaimed);
    const isOfRank = snapshot.rank !== null && snapshot.rank === about.ranks.get(pid);
    if (result.isOfAnother || (result.byAddress === 0 && !isOfRank)) continue;
    // Ranks get the same addresses at about the same time, but not to the microsecond: the clocks of one process align
    // best.
    const rating: Rating = [
      result.byAddress,
      isOfRank ? 1 : 0,
      -(result.alignment.error_us ?? Number.POSITIVE_INFINITY),
    ];
    if (best !== undefined && !isAbove(rating, best.rating)) continue;
    // The profiler's device is the process's own ordinal, like the snapshot's; the device of the matched blocks has
    // priority.
    best = { snapshot, device: deviceOf(allocations, result.matched) ?? snapshot.device, result, rating };
  }
  return best;
}

/** There is evidence of its owner other than its size. */
function isClaimed(allocation: DriverAllocation): boolean {
  const { owner } = ownerOf({ ...allocation, isTorchSegment: false, hasSnapshot: true });
  return owner !== 'other' && owner !== 'torch_unmatched';
}

/** The first figure that differs decides. */
type Rating = readonly [blocks: number, isOfRank: number, precision: number];

function isAbove(a: Rating, b: Rating): boolean {
  const differs = a.findIndex((figure, i) => figure !== b[i]);
  return differs >= 0 && a[differs]! > b[differs]!;
}

function deviceOf(allocations: readonly DriverAllocation[], matched: ReadonlySet<number>): number | null {
  const counts = new Map<number, number>();
  for (const index of matched) {
    const { device } = allocations[index]!;
    if (device !== null) counts.set(device, (counts.get(device) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
}

/** Of several dumps of one rank the last, which is the most complete. */
export async function readMatchedSnapshots(store: Store, runId: number): Promise<MatchedSnapshot[]> {
  const rows = await store.all('nsys.snapshots', { run_id: runId });
  return rows.map(({ snapshot_id: snapshotId, first_us: firstUs, last_us: lastUs, ...row }) => ({
    ...row,
    snapshotId,
    firstUs,
    lastUs,
  }));
}

async function readSegments(store: Store, { snapshotId, device }: MatchedSnapshot): Promise<TorchSegment[]> {
  const rows = await store.all('nsys.torch_segments', { snapshot_id: snapshotId, device });
  return rows.map(({ address, bytes, alloc_us, free_us }) => ({ address, bytes, allocUs: alloc_us, freeUs: free_us }));
}

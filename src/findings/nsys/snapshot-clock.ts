/** The report in which a snapshot's process was profiled, with its clock aligned to the snapshot's. */

import { readDriverAllocations } from '../../derive/nsys/driver-allocation.js';
import { matchProcess, readMatchedSnapshots } from '../../derive/nsys/match-process.js';
import { rangeStacks } from '../../derive/nsys/range-stacks.js';
import type { NsysAlignment, NvtxAt } from '../../model/results/nsys.js';
import type { Store } from '../../store/store.js';

export interface SnapshotClock {
  readonly sourceId: number;
  readonly path: string;
  readonly pid: number;
  /** Of the snapshot by whose segments the process is known. */
  readonly snapshotId: number;
  readonly rank: number | null;
  readonly alignment: NsysAlignment;
  /** ns of the report's clock, of a time of the snapshot in µs. */
  toNs(timeUs: number): number;
}

/** Empty if the run lacks an export, or no clock can be aligned with any snapshot's. */
async function readSnapshotClocks(store: Store, runId: number): Promise<SnapshotClock[]> {
  const reports = await store.all('nsys.reports', { run_id: runId });
  if (reports.length === 0) return [];
  const snapshots = await readMatchedSnapshots(store, runId);
  const clocks: SnapshotClock[] = [];
  for (const { source_id, display_path, clock_offset_us, rank } of reports) {
    const processes = (await store.all('nsys.processes', { source_id })).filter(({ devices }) => devices.length > 0);
    const ranks = new Map(
      processes.flatMap((process) => (process.rank === null ? [] : [[process.pid, process.rank] as const])),
    );
    if (processes.length === 1 && rank !== null) ranks.set(processes[0]!.pid, rank);
    const allocations = await readDriverAllocations(store, source_id, { ranges: false });
    for (const { pid } of processes) {
      const ownAllocations = allocations.filter((allocation) => allocation.pid === pid);
      const match = await matchProcess(store, snapshots, pid, ownAllocations, {
        clockOffsetUs: clock_offset_us,
        ranks,
      });
      if (match === undefined) continue;
      const { alignment } = match.result;
      if (alignment.by === 'nominal' && clock_offset_us === null) continue;
      const offsetUs = (clock_offset_us ?? 0) + (alignment.correction_us ?? 0);
      clocks.push({
        sourceId: source_id,
        path: display_path,
        pid,
        snapshotId: match.snapshot.snapshotId,
        rank: match.snapshot.rank,
        alignment,
        toNs: (timeUs) => (timeUs - offsetUs) * 1000,
      });
    }
  }
  return clocks;
}

/** Null where no report covers that time of this snapshot's process. */
export async function rangesAt(
  store: Store,
  clocks: readonly SnapshotClock[],
  snapshot: { readonly snapshotId: number; readonly rank: number | null },
  timeUs: number | null,
): Promise<NvtxAt | null> {
  if (timeUs === null) return null;
  const clock =
    clocks.find(({ snapshotId }) => snapshotId === snapshot.snapshotId) ??
    // Another dump of the same process.
    clocks.find(({ rank }) => rank !== null && rank === snapshot.rank);
  if (clock === undefined) return null;
  const timeNs = clock.toNs(timeUs);
  const stacks = await rangeStacks(store, clock.sourceId, timeNs, clock.pid);
  return stacks.length === 0
    ? null
    : { path: clock.path, time_ns: Math.round(timeNs), alignment: clock.alignment, stacks };
}

/** Of the run's exports, of which most runs have none. */
export async function clocksOf(store: Store, snapshotId: number | undefined): Promise<readonly SnapshotClock[]> {
  if (snapshotId === undefined) return [];
  const run = await store.one('replay.run_of_snapshot', { snapshot_id: snapshotId });
  return run === undefined ? [] : readSnapshotClocks(store, run.run_id);
}

/** {@link rangesAt} for one question. */
export async function nvtxOf(
  store: Store,
  snapshot: Parameters<typeof rangesAt>[2],
  timeUs: number | null,
): Promise<NvtxAt | null> {
  return timeUs === null ? null : rangesAt(store, await clocksOf(store, snapshot.snapshotId), snapshot, timeUs);
}

/** The last OOM of every device of a run's traces, with the allocator just before it. */
import { groupBy } from '../../model/group-by.js';
import type { Place } from '../../model/place.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import type { StateParts } from './accounting.js';
import type { FreeClass, FreeSpace } from './facts.js';

export type TracedRow = QueryRow<'verdict.traced_ooms'>;

/** An OOM entry and its snapshot. */
export interface SnapshotOom {
  readonly snapshotId: number;
  readonly path: string;
  readonly rank: number | null;
  readonly device: number;
  readonly seq: number;
  /** Length of the device's trace. */
  readonly entries: number;
  readonly hasSettings: boolean;
  /** Rounded. */
  readonly requestedBytes: number;
  readonly source: Place;
  readonly expandableSegments: boolean;
  readonly freedAfterOom: boolean;
  readonly free: FreeSpace;
  /** The reserve, divided for the request that failed. */
  readonly parts: StateParts;
  readonly row: TracedRow;
}

/** Up to so many snapshots, the traces of ranks that did not fail are also read, to compare ranks. */
export const MOST_COMPARED_SNAPSHOTS = 8;

/** In the order of the failures, which begin with them. */
export async function readTracedOoms(store: Store, runId: number): Promise<SnapshotOom[]> {
  const rows = await store.all('verdict.traced_ooms', { run_ids: String(runId) });
  if (rows.length === 0) return [];
  const keyOf = (of: { readonly snapshot_id: number; readonly device: number }): string =>
    `${of.snapshot_id} ${of.device}`;
  const free = groupBy(await store.all('verdict.oom_free', { run_id: runId }), keyOf);
  const parts = groupBy(await store.all('verdict.oom_account', { run_id: runId }), keyOf);
  return rows.map((row) => ({
    snapshotId: row.snapshot_id,
    path: row.display_path,
    rank: row.rank,
    device: row.device,
    seq: row.seq,
    entries: row.entries,
    hasSettings: row.has_settings,
    requestedBytes: row.requested_bytes,
    source: { path: row.display_path, entry: row.seq },
    expandableSegments: row.expandable_segments,
    freedAfterOom: row.entries - 1 > row.seq,
    free: freeSpaceOf(free.get(keyOf(row)) ?? []),
    parts: new Map((parts.get(keyOf(row)) ?? []).map(({ part, bytes }) => [part, bytes])),
    row,
  }));
}

function freeSpaceOf(rows: readonly QueryRow<'verdict.oom_free'>[]): FreeSpace {
  const of = (name: string): FreeClass => {
    const row = rows.find((one) => one.class === name);
    return { bytes: row?.bytes ?? 0, largestBytes: row?.largest_bytes ?? 0, count: row?.free_blocks ?? 0 };
  };
  const searched = rows.find((row) => row.class === 'searched');
  return {
    usable: of('searched'),
    otherStream: of('other_stream'),
    otherClass: of('other_size_class'),
    privatePool: of('private_pool'),
    pinnedSegments: searched?.pinned_segments ?? 0,
    pinningBytes: searched?.pinning_bytes ?? 0,
  };
}

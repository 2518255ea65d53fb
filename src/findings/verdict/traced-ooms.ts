/** The last OOM of every device of a run's traces, with the allocator just before it. */
import type { Place } from '../../model/place.js';
import type { Store } from '../../store/store.js';
import { type StateParts, statePartsOfOom } from './accounting.js';
import type { FreeClass, FreeSpace, TraceFacts, Walk } from './facts.js';
import { readTraceFacts } from './trace-facts.js';

/** Sums of an OOM entry of a trace and of the state just before it; actual bytes. */
export interface TracedOom {
  readonly rank: number | null;
  readonly device: number;
  readonly seq: number;
  /** Rounded. */
  readonly requestedBytes: number;
  /** What the driver was asked for. */
  readonly segmentBytes: number;
  readonly deviceFreeBytes: number | null;
  readonly site: string | null;
  readonly source: Place;
  readonly reservedBytes: number;
  readonly allocatedBytes: number;
  readonly pendingBytes: number;
  /** Reserved by private pools. */
  readonly privateBytes: number;
  readonly oversizeSlackBytes: number;
  /** Null where no `roundup_power2_divisions` are set. */
  readonly roundingWasteBytes: number | null;
  readonly freedByWaitBytes: number;
  readonly free: FreeSpace;
  readonly expandableSegments: boolean;
  readonly maxSplitBytes: number;
  readonly walk: Walk;
  readonly freedAfterOom: boolean;
  /** See `readTraceFacts`; absent if the trace was not read. */
  readonly trace?: TraceFacts | null | undefined;
}

/** An OOM entry and its snapshot. */
export interface SnapshotOom extends TracedOom {
  readonly snapshotId: number;
  readonly handle: string;
  readonly path: string;
  /** Length of the device's trace. */
  readonly entries: number;
  readonly hasSettings: boolean;
  /** The reserve, divided for the request that failed. */
  readonly parts: StateParts;
}

/** Up to so many snapshots, the traces of ranks that did not fail are also read, to compare ranks. */
export const MOST_COMPARED_SNAPSHOTS = 8;

/** The last OOM entry of every device: earlier ones were survived. */
export async function readTracedOoms(store: Store, runId: number): Promise<SnapshotOom[]> {
  const traced: SnapshotOom[] = [];
  for (const row of await store.all('verdict.traced_ooms', { run_id: runId })) {
    const { device, seq } = row;
    const source = { path: row.display_path, entry: seq };
    traced.push({
      snapshotId: row.snapshot_id,
      handle: row.handle,
      path: row.display_path,
      entries: row.entries,
      hasSettings: row.has_settings,
      rank: row.rank,
      device,
      seq,
      requestedBytes: row.requested_bytes,
      segmentBytes: row.segment_request_bytes,
      deviceFreeBytes: row.device_free_bytes,
      site: row.site,
      source,
      reservedBytes: row.reserved_bytes,
      allocatedBytes: row.allocated_bytes,
      pendingBytes: row.pending_bytes,
      privateBytes: row.private_reserved_bytes,
      oversizeSlackBytes: row.oversize_slack_bytes,
      roundingWasteBytes: row.power2_rounding_bytes,
      freedByWaitBytes: row.freed_by_wait_bytes,
      free: await readFreeSpace(store, row.snapshot_id, device),
      expandableSegments: row.expandable_segments,
      maxSplitBytes: row.max_split_bytes ?? Number.POSITIVE_INFINITY,
      walk: {
        exact: row.holds,
        violations: row.violations,
        uncertainBlocks: row.uncertain_blocks,
        uncertainBytes: row.uncertain_bytes,
      },
      freedAfterOom: row.entries - 1 > seq,
      parts: await statePartsOfOom(store, row.snapshot_id, device),
      trace: await readTraceFacts(store, row.snapshot_id, {
        device,
        seq,
        stackId: row.stack_id,
        startsEmpty: row.starts_empty,
        source,
      }),
    });
  }
  return distinct(traced);
}

async function readFreeSpace(store: Store, snapshotId: number, device: number): Promise<FreeSpace> {
  const rows = await store.all('verdict.oom_free', { snapshot_id: snapshotId, device });
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

/**
 * A dump is often kept twice (a copy, a later dump of the same process): one OOM is one verdict. Without a rank, equal
 * OOMs may be of two ranks.
 */
function distinct(ooms: readonly SnapshotOom[]): SnapshotOom[] {
  const key = (oom: TracedOom): string =>
    [oom.rank, oom.device, oom.seq, oom.requestedBytes, oom.deviceFreeBytes].join(' ');
  const first = new Map<string, SnapshotOom>();
  for (const [i, oom] of ooms.entries()) {
    const name = oom.rank === null ? `unknown ${i}` : key(oom);
    if (!first.has(name)) first.set(name, oom);
  }
  return [...first.values()];
}

/**
 * Sees to it that `derived_bucket` has the rows of a range: smallest and largest totals over runs of trace entries.
 * Those of whole traces are in the store; those of a range are in a TEMP table of the same name for as long as the
 * store is open.
 */

import { deviceHistory } from '../../derive/trace/device-history.js';
import { MAX_BUCKETS } from '../../model/derived-tables.js';
import type { Store } from '../../store/store.js';

export interface BucketRange {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** A row ends with each of these entries too, so that changes between two of them stay separate. Ascending. */
  readonly cuts?: readonly number[] | undefined;
}

export interface BucketFill {
  /** Entries of a whole row: a power of two, 1 = every entry has its row. */
  readonly entriesPerRow: number;
  /** Nothing in the trace contradicts the allocator's rules. */
  readonly holds: boolean;
}

/**
 * The rows of one device: of its whole trace, cut at its steps, or of `range` only, as finely as `MAX_BUCKETS` allows.
 * The first row includes the state before its first entry. A device without a trace has no rows.
 */
export async function ensureBuckets(
  store: Store,
  snapshotId: number,
  device: number,
  range?: BucketRange,
): Promise<BucketFill> {
  await store.unshadow('derived_bucket');
  const { trace, holds, bucketEntries } = await deviceHistory(store, snapshotId, device);
  if (range === undefined) return { entriesPerRow: bucketEntries, holds };
  const lastSeq = Math.min(range.lastSeq, trace.events - 1);
  let entries = 1;
  while (Math.ceil((lastSeq - range.firstSeq + 1) / entries) > MAX_BUCKETS) entries *= 2;
  await store.shadow('derived_bucket', 'timeline.zoomed_rows', {
    snapshot_id: snapshotId,
    device,
    first_seq: range.firstSeq,
    last_seq: lastSeq,
    entries,
    cuts: range.cuts === undefined || range.cuts.length === 0 ? null : range.cuts.join(','),
  });
  return { entriesPerRow: entries, holds };
}

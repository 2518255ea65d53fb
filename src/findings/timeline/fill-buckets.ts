/**
 * Sees to it that `derived_bucket` has the rows of a range: smallest and largest totals over runs of trace entries. The
 * store has coarse ones of whole traces; finer ones are in a TEMP table of the same name for as long as the store is
 * open.
 */

import { deviceHistory } from '../../derive/trace/device-history.js';
import { entriesPerBucket, MAX_BUCKETS } from '../../model/derived-tables.js';
import type { Store } from '../../store/store.js';

export interface BucketRange {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** A row ends with each of these entries too, so that changes between two of them stay separate. Ascending. */
  readonly cuts: readonly number[];
}

export interface BucketFill {
  /** Entries of a whole row: a power of two, 1 = every entry has its row. */
  readonly entriesPerRow: number;
  /** Nothing in the trace contradicts the allocator's rules. */
  readonly holds: boolean;
}

/** A longer trace is shown whole by the rows of the store: to make others takes 2 s for each million entries. */
const FINE_UP_TO = 4 * MAX_BUCKETS;

/**
 * The rows of `range` of one device, as finely as `MAX_BUCKETS` allows. The first row includes the state before its
 * first entry.
 */
export async function ensureBuckets(
  store: Store,
  snapshotId: number,
  device: number,
  { firstSeq, cuts, ...range }: BucketRange,
): Promise<BucketFill> {
  await store.unshadow('derived_bucket');
  const { trace, holds, bucketEntries } = await deviceHistory(store, snapshotId, device);
  const lastSeq = Math.min(range.lastSeq, trace.events - 1);
  const events = lastSeq - firstSeq + 1;
  if (events === trace.events && events > FINE_UP_TO) return { entriesPerRow: bucketEntries, holds };
  const entries = entriesPerBucket(events);
  await store.shadow('derived_bucket', 'timeline.zoomed_rows', {
    snapshot_id: snapshotId,
    device,
    first_seq: firstSeq,
    last_seq: lastSeq,
    entries,
    cuts: cuts.length === 0 ? null : cuts.join(','),
  });
  return { entriesPerRow: entries, holds };
}

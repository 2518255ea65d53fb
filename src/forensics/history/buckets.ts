/** Totals over a trace in runs of 2^k entries, smallest and largest kept: what every timeline is drawn from. */
import type { TotalsObserver } from '../../allocator/forward-walk.js';
import { ColumnBatch, putI64, putNullI64 } from '../../model/columns.js';
import { BUCKET_LAYOUT, MAX_BUCKETS } from '../../model/derived-tables.js';

/** Entries a bucket for a trace of `events`: the least power of two that gives at most {@link MAX_BUCKETS} of them. */
export function entriesPerBucket(events: number): number {
  let entries = 1;
  while (Math.ceil(events / entries) > MAX_BUCKETS) entries *= 2;
  return entries;
}

interface StartTotals {
  readonly allocatedBytes: number;
  readonly activeBytes: number;
  readonly reservedBytes: number;
}

/** Fills the buckets of entries `firstSeq` to `lastSeq`; `start` are the totals before the first. */
export class BucketFiller implements TotalsObserver {
  private readonly firstSeq: number;
  private readonly entries: number;
  private readonly values: readonly [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  private readonly firstTime: Float64Array;
  private readonly lastTime: Float64Array;
  private readonly lastSeqOf: Int32Array;
  private count = 0;

  constructor(firstSeq: number, lastSeq: number, entries: number, start: StartTotals) {
    this.firstSeq = firstSeq;
    this.entries = entries;
    const rows = Math.max(1, Math.ceil((lastSeq - firstSeq + 1) / entries));
    const least = (): Float64Array => new Float64Array(rows).fill(Number.POSITIVE_INFINITY);
    const most = (): Float64Array => new Float64Array(rows).fill(Number.NEGATIVE_INFINITY);
    this.values = [least(), most(), least(), most(), least(), most()];
    this.firstTime = new Float64Array(rows).fill(Number.NaN);
    this.lastTime = new Float64Array(rows).fill(Number.NaN);
    this.lastSeqOf = new Int32Array(rows).fill(firstSeq - 1);
    this.put(0, start.allocatedBytes, start.activeBytes, start.reservedBytes);
  }

  after(seq: number, allocatedBytes: number, activeBytes: number, reservedBytes: number): void {
    const row = Math.floor((seq - this.firstSeq) / this.entries);
    this.put(row, allocatedBytes, activeBytes, reservedBytes);
    this.lastSeqOf[row] = seq;
  }

  private put(row: number, allocatedBytes: number, activeBytes: number, reservedBytes: number): void {
    const [allocatedMin, allocatedMax, activeMin, activeMax, reservedMin, reservedMax] = this.values;
    if (allocatedBytes < allocatedMin[row]!) allocatedMin[row] = allocatedBytes;
    if (allocatedBytes > allocatedMax[row]!) allocatedMax[row] = allocatedBytes;
    if (activeBytes < activeMin[row]!) activeMin[row] = activeBytes;
    if (activeBytes > activeMax[row]!) activeMax[row] = activeBytes;
    if (reservedBytes < reservedMin[row]!) reservedMin[row] = reservedBytes;
    if (reservedBytes > reservedMax[row]!) reservedMax[row] = reservedBytes;
    if (row >= this.count) this.count = row + 1;
  }

  /** When the first and last entry of a bucket were written, where known. */
  time(bucket: number, firstUs: number | null, lastUs: number | null): void {
    this.firstTime[bucket] = firstUs ?? Number.NaN;
    this.lastTime[bucket] = lastUs ?? Number.NaN;
  }

  /** The buckets that saw anything. */
  batch(snapshotId: number, device: number): ColumnBatch {
    const batch = new ColumnBatch(BUCKET_LAYOUT, Math.max(1, this.count));
    const columns = [
      'allocated_min_bytes',
      'allocated_max_bytes',
      'active_min_bytes',
      'active_max_bytes',
      'reserved_min_bytes',
      'reserved_max_bytes',
    ].map((name) => batch.i64(name));
    let row = 0;
    for (let bucket = 0; bucket < this.count; bucket += 1) {
      if (this.values[0][bucket] === Number.POSITIVE_INFINITY) continue;
      batch.i32('snapshot_id')[row] = snapshotId;
      batch.i32('device')[row] = device;
      batch.i32('bucket')[row] = bucket;
      batch.i32('first_seq')[row] = this.firstSeq + bucket * this.entries;
      batch.i32('last_seq')[row] = this.lastSeqOf[bucket]!;
      for (const [name, times] of [
        ['first_time_us', this.firstTime],
        ['last_time_us', this.lastTime],
      ] as const) {
        if (Number.isNaN(times[bucket]!)) putNullI64(batch.i64(name), row);
        else putI64(batch.i64(name), row, times[bucket]!);
      }
      for (const [i, column] of columns.entries()) putI64(column, row, this.values[i]![bucket]!);
      row += 1;
    }
    batch.rows = row;
    return batch;
  }
}

/** The rows of `derived_bucket` of one trace or a range of it. */
import { ColumnBatch, putI64, putNullI64 } from '../../model/columns.js';
import { BUCKET_LAYOUT } from '../../model/derived-tables.js';
import type { Store } from '../../store/store.js';
import { type BucketColumns, BucketFiller, type BucketRange } from './buckets.js';
import { stepCuts } from './step-figures.js';
import { readSteps } from './steps.js';
import { type DeviceHistory, totalsOf, walkForward } from './walk-history.js';

/** The rows of a whole trace as a batch to keep. */
export async function bucketBatch(store: Store, history: DeviceHistory, filler: BucketFiller): Promise<ColumnBatch> {
  const columns = filler.columns();
  const times = await readTimes(store, history, columns);
  const batch = new ColumnBatch(BUCKET_LAYOUT, Math.max(1, columns.count));
  batch.rows = columns.count;
  batch.i32('snapshot_id').fill(history.trace.snapshotId);
  batch.i32('device').fill(history.trace.device);
  batch.i32('first_seq').set(columns.firstSeq.subarray(0, columns.count));
  batch.i32('last_seq').set(columns.lastSeq.subarray(0, columns.count));
  const wide = BYTE_COLUMNS.map(([name, of]) => [batch.i64(name), of(columns)] as const);
  const timed = [
    [batch.i64('first_time_us'), times.first],
    [batch.i64('last_time_us'), times.last],
  ] as const;
  for (let row = 0; row < columns.count; row += 1) {
    batch.i32('bucket')[row] = row;
    for (const [column, values] of wide) putI64(column, row, values[row]!);
    for (const [column, values] of timed) {
      if (Number.isNaN(values[row]!)) putNullI64(column, row);
      else putI64(column, row, values[row]!);
    }
  }
  return batch;
}

/** The whole trace, cut where its steps end so that a row never mixes two of them. */
export async function wholeTrace(store: Store, { trace }: DeviceHistory): Promise<BucketRange> {
  const { steps } = await readSteps(store, trace.snapshotId, trace.device);
  return { firstSeq: 0, lastSeq: trace.events - 1, cuts: stepCuts(steps) };
}

export async function fillBuckets(store: Store, history: DeviceHistory, range: BucketRange): Promise<BucketFiller> {
  const filler = new BucketFiller(range, totalsOf(history.start));
  await walkForward(store, history, range.lastSeq, filler);
  return filler;
}

export const BYTE_COLUMNS: readonly (readonly [name: string, of: (columns: BucketColumns) => Float64Array])[] = [
  ['allocated_min_bytes', (columns) => columns.allocatedMin],
  ['allocated_max_bytes', (columns) => columns.allocatedMax],
  ['active_min_bytes', (columns) => columns.activeMin],
  ['active_max_bytes', (columns) => columns.activeMax],
  ['reserved_min_bytes', (columns) => columns.reservedMin],
  ['reserved_max_bytes', (columns) => columns.reservedMax],
];

export interface RowTimes {
  /** Of the first and the last entry of each row; NaN where they have none. */
  readonly first: Float64Array;
  readonly last: Float64Array;
}

/** One scan of two columns: asking for the entries of 65,536 rows one by one would take longer. */
export async function readTimes(store: Store, { trace }: DeviceHistory, columns: BucketColumns): Promise<RowTimes> {
  const { count, firstSeq, lastSeq } = columns;
  const first = new Float64Array(count).fill(Number.NaN);
  const last = new Float64Array(count).fill(Number.NaN);
  if (count === 0) return { first, last };
  const params = {
    snapshot_id: trace.snapshotId,
    device: trace.device,
    from_seq: firstSeq[0]!,
    to_seq: lastSeq[count - 1]! + 1,
  };
  let row = 0;
  for await (const batch of store.readQueryColumns('history.times', params, { seq: 'i32', time_us: 'f64' })) {
    const { seq, time_us: time } = batch.columns;
    for (let i = 0; i < batch.rows; i += 1) {
      const at = seq[i]!;
      while (row < count && lastSeq[row]! < at) row += 1;
      if (row === count) break;
      if (firstSeq[row] === at) first[row] = time[i]!;
      if (lastSeq[row] === at) last[row] = time[i]!;
    }
  }
  return { first, last };
}

/**
 * Fills `derived_bucket`: least and most of a device's memory over runs of trace entries. The rows of whole traces are
 * kept with the history; those of a range, and all of them where the store cannot be written, stand in a TEMP table of
 * the same name for as long as the store is open.
 */
import { BUCKET_LAYOUT, HISTORY_RULES } from '../../model/derived-tables.js';
import type { Store } from '../../store/store.js';
import { BYTE_COLUMNS, fillBuckets, type RowTimes, readTimes, wholeTrace } from '../trace/bucket-rows.js';
import type { BucketColumns, BucketRange } from '../trace/buckets.js';
import { deviceHistory } from '../trace/device-history.js';

export type { BucketRange } from '../trace/buckets.js';

export interface BucketFill {
  /** Entries of a whole row: a power of two, 1 = every entry has its row. */
  readonly entriesPerRow: number;
  /** Nothing in the trace contradicts the allocator's rules. */
  readonly holds: boolean;
}

/** A TEMP table hides the one that is kept, so it goes as soon as the rows of another device or range are wanted. */
const DROP = 'DROP TABLE IF EXISTS temp.derived_bucket';
const CREATE = `CREATE TEMP TABLE derived_bucket (
  snapshot_id INTEGER, device INTEGER, bucket INTEGER, first_seq INTEGER, last_seq INTEGER, first_time_us BIGINT, last_time_us BIGINT,
  allocated_min_bytes BIGINT, allocated_max_bytes BIGINT, active_min_bytes BIGINT, active_max_bytes BIGINT, reserved_min_bytes BIGINT, reserved_max_bytes BIGINT)`;
const NAMES = BUCKET_LAYOUT.columns.map((column) => column.name).slice(2);

/**
 * Sees to it that `derived_bucket` holds the rows of one device: of its whole trace, cut at its steps, or of `range`
 * only, as finely as `MAX_BUCKETS` allows. The first row includes the state before its first entry. A device without a
 * trace has no rows.
 */
export async function ensureBuckets(
  store: Store,
  snapshotId: number,
  device: number,
  range?: BucketRange,
): Promise<BucketFill> {
  await store.run(DROP);
  const history = await deviceHistory(store, snapshotId, device);
  const { trace, holds } = history;
  if (range === undefined) {
    const kept = await store.one('history.summary', { snapshot_id: snapshotId, device, rules: HISTORY_RULES });
    if (kept !== undefined) return { entriesPerRow: kept.bucket_entries, holds };
  }
  const whole = range ?? (await wholeTrace(store, history));
  const filler = await fillBuckets(store, history, { ...whole, lastSeq: Math.min(whole.lastSeq, trace.events - 1) });
  await store.run(CREATE);
  const columns = filler.columns();
  const times = await readTimes(store, history, columns);
  for (let from = 0; from < columns.count; from += SQL_ROWS) {
    const to = Math.min(columns.count, from + SQL_ROWS);
    const values = listsOf(columns, times, from, to);
    await store.run(
      `INSERT INTO temp.derived_bucket SELECT $snapshot_id, $device, ${NAMES.map((name) => `unnest($${name}::BIGINT[])`).join(', ')}`,
      { snapshot_id: snapshotId, device, ...Object.fromEntries(NAMES.map((name, i) => [name, values[i]!])) },
    );
  }
  return { entriesPerRow: filler.entries, holds };
}

/** Rows a statement: lists travel as text. */
const SQL_ROWS = 8_192;

function listsOf(columns: BucketColumns, times: RowTimes, from: number, to: number): string[] {
  const list = (values: ArrayLike<number>): string => {
    const parts: (number | string)[] = [];
    for (let row = from; row < to; row += 1) parts.push(Number.isNaN(values[row]!) ? 'NULL' : values[row]!);
    return `[${parts.join(',')}]`;
  };
  const numbers = Array.from({ length: to }, (_, row) => row);
  return [
    numbers,
    columns.firstSeq,
    columns.lastSeq,
    times.first,
    times.last,
    ...BYTE_COLUMNS.map(([, of]) => of(columns)),
  ].map(list);
}

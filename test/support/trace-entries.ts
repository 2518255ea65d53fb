/** Trace entries as the batches that parsers hand on. */
import { ColumnBatch, LAYOUTS, putI64, putNullI64 } from '../../src/model/columns.js';

export interface TraceEntry {
  readonly action: number;
  readonly address: number | null;
  readonly sizeBytes: number;
  readonly stream: number | null;
  readonly timeUs: number | null;
  readonly stackId: number;
  /** Pool, compile context and user metadata; −1 = none. */
  readonly tail: readonly [number, number, number];
}

export function batchOf(entries: readonly TraceEntry[]): ColumnBatch {
  const batch = new ColumnBatch(LAYOUTS.trace_entry, Math.max(1, entries.length));
  batch.rows = entries.length;
  const put = (name: string, row: number, value: number | null): void => {
    if (value === null) putNullI64(batch.i64(name), row);
    else putI64(batch.i64(name), row, value);
  };
  entries.forEach((one, row) => {
    batch.u8('action')[row] = one.action;
    put('addr', row, one.address);
    put('size_bytes', row, one.sizeBytes);
    put('stream', row, one.stream);
    put('time_us', row, one.timeUs);
    batch.i32('stack_id')[row] = one.stackId;
    const [pool, context, metadata] = one.tail;
    batch.i32('pool')[row] = pool;
    batch.i32('compile_context_id')[row] = context;
    batch.i32('user_metadata_id')[row] = metadata;
  });
  return batch;
}

/** The entries of a device's trace from the store, as columns. */
import type { WalkEvents } from '../../allocator/walk/walk-input.js';
import type { ReadBatch } from '../../store/read-columns.js';
import type { Store } from '../../store/store.js';
import type { TraceOfDevice } from './device-history.js';

/** Entries read at a time: DuckDB has those of two windows in memory, however long the trace. */
const WINDOW_EVENTS = 262_144;

const SPEC = { seq: 'i32', action: 'u8', addr: 'f64', size_bytes: 'f64', stream: 'f64', stack_id: 'i32' } as const;

/** All entries in order. */
export async function readTrace(store: Store, trace: TraceOfDevice): Promise<WalkEvents> {
  const { snapshotId: snapshot_id, device, events: most } = trace;
  const windows = Array.from({ length: Math.ceil(most / WINDOW_EVENTS) }, (_, i) => ({
    snapshot_id,
    device,
    from_seq: i * WINDOW_EVENTS,
    to_seq: Math.min(most, (i + 1) * WINDOW_EVENTS),
  }));
  if (!trace.pooled) {
    const { rows, columns } = await store.readQueryRuns('history.events', windows, SPEC, most);
    return inOrder(events(rows, columns));
  }
  const spec = { ...SPEC, pool: 'i32' } as const;
  const { rows, columns } = await store.readQueryRuns('history.pooled_events', windows, spec, most);
  return inOrder({ ...events(rows, columns), pool: columns.pool.map(trace.pools.toWalk) });
}

function events(count: number, columns: ReadBatch<typeof SPEC>['columns']): WalkEvents {
  const { seq, action, addr: address, size_bytes: sizeBytes, stream, stack_id: stackId } = columns;
  return { count, seq, action, address, sizeBytes, stream, stackId };
}

/** Rows come in no order, and their numbers are dense from 0. */
function inOrder(batch: WalkEvents): WalkEvents {
  const { count, seq } = batch;
  const ordered = <T extends Float64Array | Int32Array | Uint8Array>(column: T): T => {
    const to = new (column.constructor as new (length: number) => T)(count);
    for (let i = 0; i < count; i += 1) to[seq[i]!] = column[i]!;
    return to;
  };
  return {
    count,
    seq: ordered(seq),
    action: ordered(batch.action),
    address: ordered(batch.address),
    sizeBytes: ordered(batch.sizeBytes),
    stream: ordered(batch.stream),
    stackId: ordered(batch.stackId),
    pool: batch.pool === undefined ? undefined : ordered(batch.pool),
  };
}

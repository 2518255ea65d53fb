/** The entries of a device's trace from the store, as columns. */
import type { WalkEvents } from '../../allocator/walk/backward-walk.js';
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

/** Never seen to differ: rows come as they were appended. A rewritten store may have them in another order. */
function inOrder(batch: WalkEvents): WalkEvents {
  let last = -1;
  let ascends = true;
  for (let i = 0; i < batch.count && ascends; i += 1) {
    ascends = batch.seq[i]! > last;
    last = batch.seq[i]!;
  }
  if (ascends) return batch;
  const rows = Int32Array.from({ length: batch.count }, (_, i) => i).sort((a, b) => batch.seq[a]! - batch.seq[b]!);
  return {
    count: batch.count,
    seq: Int32Array.from(rows, (i) => batch.seq[i]!),
    action: Uint8Array.from(rows, (i) => batch.action[i]!),
    address: Float64Array.from(rows, (i) => batch.address[i]!),
    sizeBytes: Float64Array.from(rows, (i) => batch.sizeBytes[i]!),
    stream: Float64Array.from(rows, (i) => batch.stream[i]!),
    stackId: Int32Array.from(rows, (i) => batch.stackId[i]!),
    pool: batch.pool === undefined ? undefined : Int32Array.from(rows, (i) => batch.pool![i]!),
  };
}

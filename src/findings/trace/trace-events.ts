/** Entries of a device's trace from the store, as columns for a walk. */
import type { WalkEvents } from '../../allocator/walk/backward-walk.js';
import type { ReadBatch } from '../../store/read-columns.js';
import type { Store } from '../../store/store.js';
import type { TraceOfDevice } from './device-history.js';

/** Entries read at a time: memory is that of two windows, however long the trace. */
const WINDOW_EVENTS = 262_144;

const SPEC = { seq: 'i32', action: 'u8', addr: 'f64', size_bytes: 'f64', stream: 'f64', stack_id: 'i32' } as const;

/** Entries `from` to `to` (exclusive) in order, while DuckDB reads the next window. */
export async function* eachForward(
  store: Store,
  trace: TraceOfDevice,
  from: number,
  to: number,
): AsyncGenerator<WalkEvents, void, void> {
  const windows: (readonly [number, number])[] = [];
  for (let at = from; at < to; at += WINDOW_EVENTS) windows.push([at, Math.min(to, at + WINDOW_EVENTS)]);
  yield* readAhead(store, trace, windows);
}

async function* readAhead(
  store: Store,
  trace: TraceOfDevice,
  windows: readonly (readonly [from: number, to: number])[],
): AsyncGenerator<WalkEvents, void, void> {
  let next: Promise<WalkEvents> | undefined;
  for (let i = 0; i < windows.length; i += 1) {
    const events = await (next ?? readWindow(store, trace, windows[i]!));
    next = i + 1 < windows.length ? readWindow(store, trace, windows[i + 1]!) : undefined;
    // Awaited in the next round; a failure of the caller's work must not leave it unhandled.
    next?.catch(() => undefined);
    yield inOrder(events);
  }
}

async function readWindow(
  store: Store,
  trace: TraceOfDevice,
  [from, to]: readonly [number, number],
): Promise<WalkEvents> {
  const params = { snapshot_id: trace.snapshotId, device: trace.device, from_seq: from, to_seq: to };
  if (!trace.pooled) {
    const { rows, columns } = await store.readQueryWhole('history.events', params, SPEC);
    return events(rows, columns);
  }
  const spec = { ...SPEC, pool: 'i32' } as const;
  const { rows, columns } = await store.readQueryWhole('history.pooled_events', params, spec);
  return { ...events(rows, columns), pool: columns.pool.map(trace.pools.toWalk) };
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

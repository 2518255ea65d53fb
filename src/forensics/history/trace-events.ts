/** Entries of a device's trace from the store, as columns for a walk: in windows from the last to the first, or in order. */
import type { WalkEvents } from '../../allocator/backward-walk.js';
import type { ReadBatch } from '../../store/read-columns.js';
import type { Store } from '../../store/store.js';

/** Entries read at a time on the way back: memory is that of two windows, however long the trace. */
const WINDOW_EVENTS = 262_144;

const SPEC = { seq: 'i32', action: 'u8', addr: 'f64', size_bytes: 'f64', stream: 'f64', stack_id: 'i32' } as const;

/** Which trace, and how the walk numbers its pools. */
export interface TraceOfDevice {
  readonly snapshotId: number;
  readonly device: number;
  /** Number of entries; 0 without a trace. */
  readonly events: number;
  readonly pools: PoolNumbers;
  /** Whether its entries name other pools than the default one. */
  readonly pooled: boolean;
}

/** Local pool numbers of a snapshot as a walk wants them, and back: 0 is the default pool, others count from 1, −1 and NULL are unknown. */
export interface PoolNumbers {
  toWalk(pool: number): number;
  fromWalk(pool: number): number;
}

export async function readPoolNumbers(store: Store, snapshotId: number): Promise<PoolNumbers> {
  const rows = await store.all('snapshot.pool_ids', { snapshot_id: snapshotId });
  const defaults = rows.filter((row) => row.pool_id_a === 0 && row.pool_id_b === 0).map((row) => row.pool);
  const isDefault = new Set(defaults);
  return {
    toWalk: (pool) => (pool < 0 ? -1 : isDefault.has(pool) ? 0 : pool + 1),
    fromWalk: (pool) => (pool > 0 ? pool - 1 : (defaults[0] ?? -1)),
  };
}

/** Hands the entries from the last to the first to `undo`, reading the next window while it works on one. */
export async function eachWindowBack(
  store: Store,
  trace: TraceOfDevice,
  undo: (events: WalkEvents) => void,
): Promise<void> {
  const read = async (to: number): Promise<WalkEvents[]> => {
    const batches: WalkEvents[] = [];
    const from = Math.max(0, to - WINDOW_EVENTS);
    for await (const batch of readEvents(store, trace, from, to)) batches.push(copyOf(batch));
    return batches;
  };
  let next = read(trace.events);
  for (let to = trace.events; to > 0; to -= WINDOW_EVENTS) {
    const batches = await next;
    if (to > WINDOW_EVENTS) {
      next = read(to - WINDOW_EVENTS);
      // Awaited in the next round; a failure of this round's work must not leave it unhandled.
      next.catch(() => undefined);
    }
    for (const batch of inOrder(batches).reverse()) undo(batch);
  }
}

/** Entries `from` to `to` (exclusive) in order. A batch is valid until the next one is asked for. */
export async function* eachForward(
  store: Store,
  trace: TraceOfDevice,
  from: number,
  to: number,
): AsyncGenerator<WalkEvents, void, void> {
  let last = from - 1;
  for await (const batch of readEvents(store, trace, from, to)) {
    if (batch.count === 0) continue;
    if (!ascends(batch, last)) {
      // Never seen: rows come as they were appended. A store that somebody rewrote may have them in another order.
      const rest: WalkEvents[] = [];
      for await (const other of readEvents(store, trace, last + 1, to)) rest.push(copyOf(other));
      yield* inOrder(rest);
      return;
    }
    last = batch.seq[batch.count - 1]!;
    yield batch;
  }
}

async function* readEvents(
  store: Store,
  trace: TraceOfDevice,
  from: number,
  to: number,
): AsyncGenerator<WalkEvents, void, void> {
  const params = { snapshot_id: trace.snapshotId, device: trace.device, from_seq: from, to_seq: to };
  if (!trace.pooled) {
    for await (const { rows, columns } of store.readQueryColumns('history.events', params, SPEC))
      yield events(rows, columns);
    return;
  }
  const spec = { ...SPEC, pool: 'i32' } as const;
  for await (const { rows, columns } of store.readQueryColumns('history.pooled_events', params, spec)) {
    yield { ...events(rows, columns), pool: columns.pool.map(trace.pools.toWalk) };
  }
}

function events(count: number, columns: ReadBatch<typeof SPEC>['columns']): WalkEvents {
  const { seq, action, addr: address, size_bytes: sizeBytes, stream, stack_id: stackId } = columns;
  return { count, seq, action, address, sizeBytes, stream, stackId };
}

function copyOf(events: WalkEvents): WalkEvents {
  return {
    count: events.count,
    seq: events.seq.slice(),
    action: events.action.slice(),
    address: events.address.slice(),
    sizeBytes: events.sizeBytes.slice(),
    stream: events.stream.slice(),
    pool: events.pool?.slice(),
    stackId: events.stackId.slice(),
  };
}

function ascends(events: WalkEvents, after: number): boolean {
  let last = after;
  for (let i = 0; i < events.count; i += 1) {
    if (events.seq[i]! <= last) return false;
    last = events.seq[i]!;
  }
  return true;
}

/** `batches` if they ascend, else one batch of all their rows that does. */
function inOrder(batches: WalkEvents[]): WalkEvents[] {
  let last = -1;
  const sorted = batches.every((batch) => {
    const good = ascends(batch, last);
    last = batch.seq[batch.count - 1] ?? last;
    return good;
  });
  if (sorted) return batches;
  const rows = batches.flatMap((batch, b) => Array.from({ length: batch.count }, (_, i) => [b, i] as const));
  rows.sort(([a, i], [b, j]) => batches[a]!.seq[i]! - batches[b]!.seq[j]!);
  const pick = (of: (batch: WalkEvents) => ArrayLike<number>): number[] => rows.map(([b, i]) => of(batches[b]!)[i]!);
  const hasPools = batches.every((batch) => batch.pool !== undefined);
  return [
    {
      count: rows.length,
      seq: Int32Array.from(pick((batch) => batch.seq)),
      action: Uint8Array.from(pick((batch) => batch.action)),
      address: Float64Array.from(pick((batch) => batch.address)),
      sizeBytes: Float64Array.from(pick((batch) => batch.sizeBytes)),
      stream: Float64Array.from(pick((batch) => batch.stream)),
      pool: hasPools ? Int32Array.from(pick((batch) => batch.pool!)) : undefined,
      stackId: Int32Array.from(pick((batch) => batch.stackId)),
    },
  ];
}

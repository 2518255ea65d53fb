/** A device's allocations and completed frees as columns: what the peers replay. */
import { ALLOC } from '../../../model/trace-action-codes.js';
import type { Store } from '../../../store/store.js';

export interface ReplayColumns {
  readonly count: number;
  readonly seq: Int32Array;
  /** 1 = alloc, 0 = free_completed. */
  readonly isAlloc: Uint8Array;
  readonly address: Float64Array;
  /** Addresses numbered from 0 in order of first appearance: live sets are then plain arrays. */
  readonly place: Int32Array;
  readonly places: number;
  /** Requested bytes. */
  readonly sizeBytes: Float64Array;
  /** NaN for a trace without times. */
  readonly timeUs: Float64Array;
  /** −1 for an entry without a stack. */
  readonly stackId: Int32Array;
}

/** 37 bytes an entry: the peers' per-step tables need several passes. */
export async function readReplay(store: Store, snapshotId: number, device: number): Promise<ReplayColumns> {
  const spec = { seq: 'i32', action: 'u8', addr: 'f64', size_bytes: 'f64', time_us: 'f64', stack_id: 'i32' } as const;
  const parts: Omit<ReplayColumns, 'place' | 'places'>[] = [];
  let count = 0;
  for await (const { rows, columns } of store.readQueryColumns(
    'peak.replay',
    { snapshot_id: snapshotId, device },
    spec,
  )) {
    parts.push({
      count: rows,
      seq: columns.seq.slice(),
      isAlloc: columns.action.map((action) => (action === ALLOC ? 1 : 0)),
      address: columns.addr.slice(),
      sizeBytes: columns.size_bytes.slice(),
      timeUs: columns.time_us.slice(),
      stackId: columns.stack_id.slice(),
    });
    count += rows;
  }
  const all = {
    count,
    seq: new Int32Array(count),
    isAlloc: new Uint8Array(count),
    address: new Float64Array(count),
    sizeBytes: new Float64Array(count),
    timeUs: new Float64Array(count),
    stackId: new Int32Array(count),
  };
  let at = 0;
  for (const part of parts) {
    all.seq.set(part.seq, at);
    all.isAlloc.set(part.isAlloc, at);
    all.address.set(part.address, at);
    all.sizeBytes.set(part.sizeBytes, at);
    all.timeUs.set(part.timeUs, at);
    all.stackId.set(part.stackId, at);
    at += part.count;
  }
  const numbers = new Map<number, number>();
  const place = Int32Array.from(all.address, (address) => {
    let number = numbers.get(address);
    if (number === undefined) {
      number = numbers.size;
      numbers.set(address, number);
    }
    return number;
  });
  return { ...all, place, places: numbers.size };
}

/** The peers look at the first device whose trace has an entry; null if none has. */
export async function firstTracedDevice(
  store: Store,
  snapshotId: number,
): Promise<{ readonly device: number; readonly events: number } | null> {
  const devices = await store.all('snapshot.devices', { snapshot_id: snapshotId });
  const first = devices.find((device) => (device.events ?? 0) > 0);
  return first === undefined ? null : { device: first.device, events: first.events ?? 0 };
}

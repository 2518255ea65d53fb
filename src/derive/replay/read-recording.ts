/** A device's whole trace from the store, ready to be replayed. */

import type { DumpedState } from '../../allocator/fidelity/compare-final-state.js';
import type { WalkFindings } from '../../allocator/fidelity/fidelity.js';
import { prepareRecording, type Recording, recordedReserve } from '../../allocator/replay/recording.js';
import { OOM } from '../../allocator/trace-action-codes.js';
import { BEFORE_TRACE } from '../../model/derived-tables.js';
import type { Store } from '../../store/store.js';
import { type DeviceHistory, deviceHistory, type TraceOfDevice } from '../trace/device-history.js';
import { stateAfter } from '../trace/state-at.js';
import { readTrace } from '../trace/trace-events.js';

export interface StoredRecording {
  readonly recording: Recording;
  /** Null where the snapshot does not show the final blocks of this device. */
  readonly dump: DumpedState | null;
  readonly walk: WalkFindings;
  readonly history: DeviceHistory;
}

/** Memory: some 45 bytes an entry. */
export async function readRecording(store: Store, snapshotId: number, device: number): Promise<StoredRecording> {
  const history = await deviceHistory(store, snapshotId, device);
  const { trace, settings } = history;
  const start = await stateAfter(store, history, BEFORE_TRACE);
  const id = { snapshot_id: snapshotId, device };
  const events = await readTrace(store, trace);
  const stacks = await store.all('replay.empty_cache_stacks', id);
  const budgetBytes = await budgetAtOom(store, id, { start, events });
  const recording = prepareRecording({
    settings,
    start,
    events,
    ...(budgetBytes === undefined ? {} : { budgetBytes }),
    ...(await readOwners(store, trace)),
    emptyCacheStacks: new Set(stacks.map((row) => row.stack_id)),
    namesSettings: (await store.one('snapshot.settings', { snapshot_id: snapshotId })) !== undefined,
    // A pool that no source names still must not be the default one.
    namesPools: (await store.all('snapshot.features', { snapshot_id: snapshotId })).some(
      (row) => row.feature === 'event.pool_id',
    ),
    poolId: (pool) => trace.pools.pair(pool) ?? [pool, -1],
  });
  return {
    recording,
    dump: await readDump(store, snapshotId, device),
    walk: {
      violations: history.violations,
      tailViolations: history.holds ? history.violations : 0,
      freeRequestedRecorded: history.freeRequestedRecorded,
      freeCompletedRecorded: history.freeCompletedRecorded,
      uncertainBlocks: history.uncertainBlocks,
    },
    history,
  };
}

/** Reserved and free on the device together when the last OOM was raised. */
async function budgetAtOom(
  store: Store,
  { snapshot_id, device }: { readonly snapshot_id: number; readonly device: number },
  trace: Pick<Recording, 'start' | 'events'>,
): Promise<number | undefined> {
  const row = trace.events.action.lastIndexOf(OOM, trace.events.count - 1);
  if (row < 0) return undefined;
  const oom = (await store.all('snapshot.ooms', { snapshot_id })).find(
    (one) => one.device === device && one.seq === trace.events.seq[row],
  );
  return oom?.device_free_bytes == null ? undefined : recordedReserve(trace)[row]! + oom.device_free_bytes;
}

/** To which pools allocations and segments belong, and in which class of size segments are. */
async function readOwners(store: Store, { snapshotId, device, pools }: TraceOfDevice) {
  const id = { snapshot_id: snapshotId, device };
  const poolOfSeq = new Map<number, number>();
  for (const { from_seq, pool } of await store.all('replay.pooled_allocations', id)) {
    const number = pools.toWalk(pool);
    if (number > 0) poolOfSeq.set(from_seq, number);
  }
  const growths = new Map<number, { readonly small: number; readonly pool: number }>();
  for (const { from_seq, is_small, pool } of await store.all('replay.growths', id))
    growths.set(from_seq, { small: is_small ? 1 : 0, pool: Math.max(0, pools.toWalk(pool ?? -1)) });
  return { poolOfSeq, growths };
}

async function readDump(store: Store, snapshotId: number, device: number): Promise<DumpedState | null> {
  const id = { snapshot_id: snapshotId, device };
  const segments = (await store.all('snapshot.final_segments', id))
    .map((row) => ({ address: Number(row.address), bytes: row.total_bytes }))
    .sort((a, b) => a.address - b.address);
  const { rows, columns } = await store.readQueryWhole('replay.dumped_blocks', id, {
    address: 'f64',
    size_bytes: 'f64',
    state: 'u8',
  });
  if (rows === 0 && segments.length > 0) return null;
  return {
    segments: {
      count: segments.length,
      address: Float64Array.from(segments, (segment) => segment.address),
      totalBytes: Float64Array.from(segments, (segment) => segment.bytes),
    },
    blocks: { count: rows, address: columns.address, sizeBytes: columns.size_bytes, state: columns.state },
  };
}

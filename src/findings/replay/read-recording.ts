/** A device's whole trace from the store, ready to be replayed. */

import type { DumpedState } from '../../allocator/fidelity/compare-final-state.js';
import type { WalkFindings } from '../../allocator/fidelity/fidelity.js';
import { prepareRecording, type Recording } from '../../allocator/replay/recording.js';
import type { WalkEvents } from '../../allocator/walk/backward-walk.js';
import type { Store } from '../../store/store.js';
import { deviceHistory } from '../trace/device-history.js';
import { eachForward } from '../trace/trace-events.js';
import type { DeviceHistory } from '../trace/walk-history.js';

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
  const { trace, settings, start, facts } = history;
  const id = { snapshot_id: snapshotId, device };
  const events = await wholeTrace(store, history);
  const stacks = await store.all('replay.empty_cache_stacks', id);
  const recording = prepareRecording({
    settings,
    start,
    events,
    facts,
    emptyCacheStacks: new Set(stacks.map((row) => row.stack_id)),
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

async function wholeTrace(store: Store, { trace }: DeviceHistory): Promise<WalkEvents> {
  const { events: count } = trace;
  const all = {
    seq: new Int32Array(count),
    action: new Uint8Array(count),
    address: new Float64Array(count),
    sizeBytes: new Float64Array(count),
    stream: new Float64Array(count),
    stackId: new Int32Array(count),
  };
  const pool = trace.pooled ? new Int32Array(count) : undefined;
  let at = 0;
  for await (const batch of eachForward(store, trace, 0, count)) {
    all.seq.set(batch.seq.subarray(0, batch.count), at);
    all.action.set(batch.action.subarray(0, batch.count), at);
    all.address.set(batch.address.subarray(0, batch.count), at);
    all.sizeBytes.set(batch.sizeBytes.subarray(0, batch.count), at);
    all.stream.set(batch.stream.subarray(0, batch.count), at);
    all.stackId.set(batch.stackId.subarray(0, batch.count), at);
    if (batch.pool !== undefined) pool?.set(batch.pool.subarray(0, batch.count), at);
    at += batch.count;
  }
  return { count: at, ...all, pool };
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

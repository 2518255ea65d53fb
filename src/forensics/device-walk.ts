/** The allocator of one device of one stored snapshot, walked back from the dump over its trace. */
import { BackwardWalk, type FinalState, type WalkEvents } from '../allocator/backward-walk.js';
import { type AllocatorSettings, settingsFromSnapshot } from '../allocator/settings.js';
import { BLOCK_STATES, SEGMENT_TYPES } from '../model/vocabulary.js';
import type { Store } from '../store/store.js';

/** Entries read at a time, from the last window to the first: memory is that of one window, however long the trace. */
const WINDOW_EVENTS = 65_536;

export interface DeviceWalk {
  readonly walk: BackwardWalk;
  readonly settings: AllocatorSettings;
  /** The walk holds, or is contradicted only by the last few entries, which a dump that is not atomic explains. */
  readonly holds: boolean;
  /** The allocator was empty before the first entry: nothing of the run is missing from the trace. */
  readonly cold: boolean;
}

export async function readSettings(store: Store, snapshotId: number): Promise<Map<string, string>> {
  const rows = await store.all('snapshot.settings', { snapshot_id: snapshotId });
  return new Map(rows.map((row) => [row.key, row.value]));
}

/**
 * Walks the whole trace of a device back. States after the entries of `captureAfter` (−1: before the first) can then be read with
 * `walk.captured`.
 */
export async function walkDevice(
  store: Store,
  snapshotId: number,
  device: number,
  captureAfter: readonly number[] = [],
): Promise<DeviceWalk> {
  const settings = settingsFromSnapshot(await readSettings(store, snapshotId));
  const poolOf = await poolNumbers(store, snapshotId);
  const actions = (await store.all('snapshot.actions', { snapshot_id: snapshotId })).filter(
    (row) => row.device === device,
  );
  const count = (action: string): number => actions.find((row) => row.action === action)?.count ?? 0;
  const frees = count('free_requested') + count('free_completed') > 0;
  const walk = new BackwardWalk(await readFinalState(store, snapshotId, device, poolOf), settings, {
    captureAfter,
    freeRequestedRecorded: !frees || count('free_requested') > 0,
    freeCompletedRecorded: !frees || count('free_completed') > 0,
  });
  const events = actions.reduce((sum, row) => sum + row.count, 0);
  for (let to = events; to > 0; to -= WINDOW_EVENTS) {
    const from = Math.max(0, to - WINDOW_EVENTS);
    for await (const batch of windowEvents(store, snapshotId, device, from, to, poolOf)) walk.undo(batch);
  }
  walk.finish();
  return {
    walk,
    settings,
    holds: walk.impliedCompletions === 0 && walk.violationCount === walk.tailViolationCount,
    cold: walk.empty,
  };
}

async function* windowEvents(
  store: Store,
  snapshotId: number,
  device: number,
  from: number,
  to: number,
  poolOf: (pool: number) => number,
): AsyncGenerator<WalkEvents> {
  const params = { snapshot_id: snapshotId, device, from_seq: from, to_seq: to };
  const spec = {
    seq: 'i32',
    action: 'u8',
    addr: 'f64',
    size_bytes: 'f64',
    stream: 'f64',
    pool: 'i32',
    stack_id: 'i32',
  } as const;
  const batches: WalkEvents[] = [];
  for await (const { rows, columns } of store.readQueryColumns('snapshot.events', params, spec)) {
    batches.push({
      count: rows,
      seq: columns.seq.slice(),
      action: columns.action.slice(),
      address: columns.addr.slice(),
      sizeBytes: columns.size_bytes.slice(),
      stream: columns.stream.slice(),
      pool: columns.pool.map(poolOf),
      stackId: columns.stack_id.slice(),
    });
  }
  yield* batches.reverse();
}

/** Local pool numbers as the walk wants them: 0 is the default pool, others count from 1, −1 stays unknown. */
async function poolNumbers(store: Store, snapshotId: number): Promise<(pool: number) => number> {
  const rows = await store.all('snapshot.pool_ids', { snapshot_id: snapshotId });
  const isDefault = new Set(rows.filter((row) => row.pool_id_a === 0 && row.pool_id_b === 0).map((row) => row.pool));
  return (pool) => (pool < 0 ? -1 : isDefault.has(pool) ? 0 : pool + 1);
}

async function readFinalState(
  store: Store,
  snapshotId: number,
  device: number,
  poolOf: (pool: number) => number,
): Promise<FinalState> {
  const params = { snapshot_id: snapshotId, device };
  const segments = await store.all('snapshot.final_segments', params);
  const blocks = await store.all('snapshot.final_blocks', params);
  return {
    segments: {
      count: segments.length,
      address: Float64Array.from(segments, (row) => Number(row.address)),
      totalBytes: Float64Array.from(segments, (row) => row.total_bytes),
      stream: Float64Array.from(segments, (row) => (row.stream === null ? Number.NaN : Number(row.stream))),
      type: Uint8Array.from(segments, (row) =>
        SEGMENT_TYPES.indexOf(row.segment_type as (typeof SEGMENT_TYPES)[number]),
      ),
      pool: Int32Array.from(segments, (row) => (row.pool === null ? -1 : poolOf(row.pool))),
      expandable: Uint8Array.from(segments, (row) => row.is_expandable ?? 0),
    },
    blocks: {
      count: blocks.length,
      address: Float64Array.from(blocks, (row) => Number(row.address)),
      sizeBytes: Float64Array.from(blocks, (row) => row.size_bytes),
      requestedBytes: Float64Array.from(blocks, (row) => row.requested_bytes ?? -1),
      state: Uint8Array.from(blocks, (row) => BLOCK_STATES.indexOf(row.state as (typeof BLOCK_STATES)[number])),
      stackId: Int32Array.from(blocks, (row) => row.stack_id ?? -1),
    },
  };
}

/** The dumped state of one device, from the store. */
import type { FinalState } from '../../allocator/walk/backward-walk.js';
import { BLOCK_STATES, SEGMENT_TYPES } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import type { TraceOfDevice } from './trace-events.js';

export async function readFinalState(store: Store, trace: TraceOfDevice): Promise<FinalState> {
  const params = { snapshot_id: trace.snapshotId, device: trace.device };
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
      pool: Int32Array.from(segments, (row) => (row.pool === null ? -1 : trace.pools.toWalk(row.pool))),
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

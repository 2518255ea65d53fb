/** Reads the {@link Lives} of a trace. */
import { STACK_ORIGINS } from '../../../allocator/walk/allocator-state.js';
import { type Lives, NEVER } from '../../../attribution/blocks/lives.js';
import { NEVER as NOT_IN_TRACE } from '../../../model/derived-tables.js';
import type { Store } from '../../../store/store.js';
import type { DeviceHistory } from '../../trace/device-history.js';

const FREE_EVENT = STACK_ORIGINS.indexOf('free_event');
const SPEC = {
  block: 'i32',
  from_seq: 'i32',
  to_seq: 'i32',
  actual_bytes: 'f64',
  requested_bytes: 'f64',
  pool: 'i32',
  stack_id: 'i32',
  stack_origin: 'u8',
} as const;

/** O(blocks). Memory is 37 bytes a block. */
export async function readLives(store: Store, { trace, blocks: count }: DeviceHistory): Promise<Lives> {
  const lives = {
    allocSeq: new Int32Array(count),
    freedSeq: new Int32Array(count).fill(NEVER),
    bytes: new Float64Array(count),
    requested: new Float64Array(count),
    stackId: new Int32Array(count),
    stackIsOfFree: new Uint8Array(count),
    pool: new Int32Array(count),
  };
  let starts = 0;
  const id = { snapshot_id: trace.snapshotId, device: trace.device };
  for await (const { rows, columns } of store.readQueryColumns('attribution.lives', id, SPEC)) {
    for (let i = 0; i < rows; i += 1) {
      // Rows come in the order in which lives end.
      const row = columns.block[i]!;
      const from = columns.from_seq[i]!;
      lives.allocSeq[row] = from;
      if (columns.to_seq[i] !== NOT_IN_TRACE) lives.freedSeq[row] = columns.to_seq[i]!;
      lives.bytes[row] = columns.actual_bytes[i]!;
      lives.requested[row] = columns.requested_bytes[i]! >= 0 ? columns.requested_bytes[i]! : -1;
      lives.stackId[row] = columns.stack_id[i]! < 0 ? -1 : columns.stack_id[i]!;
      lives.pool[row] = Math.max(0, trace.pools.toWalk(columns.pool[i]!));
      if (from < 0) {
        starts += 1;
        lives.stackIsOfFree[row] = columns.stack_origin[i] === FREE_EVENT ? 1 : 0;
      }
    }
  }
  return { count, starts, events: trace.events, ...lives };
}

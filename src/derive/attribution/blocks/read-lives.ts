/** Reads the {@link Lives} of a trace. */
import { type Lives, LivesBuilder } from '../../../attribution/blocks/lives.js';
import type { Store } from '../../../store/store.js';
import type { DeviceHistory } from '../../trace/device-history.js';

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

/** O(blocks). */
export async function readLives(store: Store, { trace, blocks }: DeviceHistory): Promise<Lives> {
  const lives = new LivesBuilder(blocks);
  const id = { snapshot_id: trace.snapshotId, device: trace.device };
  for await (const { rows, columns } of store.readQueryColumns('attribution.lives', id, SPEC)) lives.add(rows, columns);
  return lives.lives(trace.events, trace.pools);
}

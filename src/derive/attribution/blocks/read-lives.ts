/** Reads the {@link Lives} of traces. */
import { LivesBuilder } from '../../../attribution/blocks/lives.js';
import type { Store } from '../../../store/store.js';
import type { DeviceHistory } from '../../trace/device-history.js';

const SPEC = {
  snapshot_id: 'i32',
  device: 'i32',
  block: 'i32',
  from_seq: 'i32',
  to_seq: 'i32',
  actual_bytes: 'f64',
  requested_bytes: 'f64',
  pool: 'i32',
  stack_id: 'i32',
  stack_origin: 'u8',
} as const;

/** Of each device; O(blocks), in one statement. */
export async function readLives(store: Store, histories: readonly DeviceHistory[]): Promise<LivesBuilder[]> {
  if (histories.length === 0) return [];
  const builders = histories.map(({ blocks }) => new LivesBuilder(blocks));
  const builderOf = new Map(histories.map(({ trace }, i) => [`${trace.snapshotId} ${trace.device}`, builders[i]!]));
  const snapshot_ids = [...new Set(histories.map(({ trace }) => trace.snapshotId))].join(',');
  for await (const { rows, columns } of store.readQueryColumns('attribution.lives', { snapshot_ids }, SPEC)) {
    const { snapshot_id: snapshots, device: devices, ...lives } = columns;
    // Rows of one device are mostly together.
    for (let from = 0, to = 0; from < rows; from = to) {
      const [snapshot, device] = [snapshots[from]!, devices[from]!];
      while (to < rows && snapshots[to] === snapshot && devices[to] === device) to += 1;
      builderOf.get(`${snapshot} ${device}`)?.add(to - from, {
        block: lives.block.subarray(from, to),
        from_seq: lives.from_seq.subarray(from, to),
        to_seq: lives.to_seq.subarray(from, to),
        actual_bytes: lives.actual_bytes.subarray(from, to),
        requested_bytes: lives.requested_bytes.subarray(from, to),
        pool: lives.pool.subarray(from, to),
        stack_id: lives.stack_id.subarray(from, to),
        stack_origin: lives.stack_origin.subarray(from, to),
      });
    }
  }
  return builders;
}

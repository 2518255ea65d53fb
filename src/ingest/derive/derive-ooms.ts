/** The allocator at the last OOM of each device of a snapshot: what the verdicts and the views of OOMs read. */
import type { Store } from '../../store/store.js';

/** In the transaction that wrote the trace and its lifetimes. */
export async function deriveOoms(store: Store, snapshotId: number): Promise<void> {
  for (const oom of await store.all('oom.last_of_devices', { snapshot_id: snapshotId })) {
    const id = { snapshot_id: snapshotId, device: oom.device, seq: oom.seq };
    await store.insertQuery('oom_hole', 'oom.holes', id);
    await store.insertQuery('oom_state', 'oom.state', id);
    if (oom.is_rounded) await store.insertQuery('oom_rounding', 'oom.rounding', id);
  }
}

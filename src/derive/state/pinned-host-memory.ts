/** Pinned memory of the host, of the snapshot of a run that holds most. */
import { pick } from '../../model/pick.js';
import type { PinnedHostMemory } from '../../model/results/common.js';
import type { Store } from '../../store/store.js';

export async function mostPinned(
  store: Store,
  of: { readonly runId: number } | { readonly snapshotId: number },
): Promise<PinnedHostMemory | null> {
  const [most] = await store.all('snapshot.pinned_host_memory', {
    run_id: 'runId' in of ? of.runId : null,
    snapshot_id: 'snapshotId' in of ? of.snapshotId : null,
  });
  return most === undefined
    ? null
    : pick(most, ['rank', 'blocks', 'total_bytes', 'active_bytes', 'site', 'site_bytes']);
}

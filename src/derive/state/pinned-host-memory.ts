/** Pinned memory of the host, of the snapshot that holds most. */
import { pick } from '../../model/pick.js';
import type { PinnedHostMemory } from '../../model/results/common.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

export async function mostPinned(store: Store, runId: number): Promise<PinnedHostMemory | null> {
  return pinnedOf(await store.all('snapshot.pinned_host_memory', { run_id: runId, snapshot_id: null }));
}

export function pinnedOf([most]: readonly QueryRow<'snapshot.pinned_host_memory'>[]): PinnedHostMemory | null {
  return most === undefined
    ? null
    : pick(most, ['rank', 'blocks', 'total_bytes', 'active_bytes', 'site', 'site_bytes']);
}

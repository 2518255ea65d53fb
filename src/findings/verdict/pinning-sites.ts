/** Which call sites keep partly free segments of the default pool from going back to the driver. */
import type { Store } from '../../store/store.js';
import { siteName } from '../stacks/read-stacks.js';

export interface PinningSite {
  readonly site: string;
  /** Partly free segments that it has live blocks in, and their actual bytes there. */
  readonly segments: number;
  readonly bytes: number;
}

/** In descending order of segments, then bytes. */
export async function pinningSites(
  store: Store,
  state: { readonly snapshotId: number; readonly device: number; readonly seq: number },
  most: number,
): Promise<PinningSite[]> {
  const { snapshotId: snapshot_id, device, seq: at_seq } = state;
  const rows = await store.all('verdict.pinning_sites', { snapshot_id, device, at_seq, most });
  return rows.map(({ site, has_stack, segments, bytes }) => ({ site: siteName(site, has_stack), segments, bytes }));
}

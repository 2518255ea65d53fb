/** The pools of a snapshot. */
import { type PoolNumbers, poolNumbers } from '../../../model/pool-numbers.js';
import type { Store } from '../../../store/store.js';

export type { PoolNumbers } from '../../../model/pool-numbers.js';

export async function readPoolNumbers(store: Store, snapshotId: number): Promise<PoolNumbers> {
  const rows = await store.all('snapshot.pool_ids', { snapshot_id: snapshotId });
  return poolNumbers(new Map(rows.map((row) => [row.pool, [row.pool_id_a, row.pool_id_b]])));
}

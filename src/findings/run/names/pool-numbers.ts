/** Pools as walks number them, as the store numbers them, and as torch does. */
import type { MempoolId } from '../../../model/pool-words.js';
import type { Store } from '../../../store/store.js';

/**
 * A walk counts 0 for the default pool and the others from 1; −1 is unknown. The store interns pairs per snapshot, in
 * the order of the file.
 */
export interface PoolNumbers {
  toWalk(stored: number): number;
  /** −1 where the store does not have the number. */
  fromWalk(pool: number): number;
  /** Torch's pair of a walk's number; null where unknown. */
  pair(pool: number): MempoolId | null;
  /** Torch's pair of a number of the store. */
  storedPair(stored: number): MempoolId | null;
}

export async function readPoolNumbers(store: Store, snapshotId: number): Promise<PoolNumbers> {
  const rows = await store.all('snapshot.pool_ids', { snapshot_id: snapshotId });
  const pairs = new Map(rows.map((row) => [row.pool, [row.pool_id_a, row.pool_id_b] as MempoolId]));
  const isDefault = (stored: number): boolean => pairs.get(stored)?.every((part) => part === 0) ?? false;
  const defaultPool = rows.find((row) => isDefault(row.pool))?.pool ?? -1;
  return {
    toWalk: (stored) => (stored < 0 ? -1 : isDefault(stored) ? 0 : stored + 1),
    fromWalk: (pool) => (pool > 0 ? pool - 1 : defaultPool),
    pair: (pool) => (pool === 0 ? [0, 0] : (pairs.get(pool - 1) ?? null)),
    storedPair: (stored) => pairs.get(stored) ?? null,
  };
}

/** Pools as walks number them, as the store numbers them, and as torch does. */
import type { MempoolId } from './pool-words.js';

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

/** `pairs`: by the store's number. */
export function poolNumbers(pairs: ReadonlyMap<number, MempoolId>): PoolNumbers {
  const defaults = new Set([...pairs].flatMap(([stored, [a, b]]) => (a === 0 && b === 0 ? [stored] : [])));
  const [defaultPool = -1] = defaults;
  return {
    toWalk: (stored) => (stored < 0 ? -1 : defaults.has(stored) ? 0 : stored + 1),
    fromWalk: (pool) => (pool > 0 ? pool - 1 : defaultPool),
    pair: (pool) => (pool === 0 ? [0, 0] : (pairs.get(pool - 1) ?? null)),
    storedPair: (stored) => pairs.get(stored) ?? null,
  };
}

/**
 * The two numbers of a pool id, and what to call them. Upstream: torch `c10/core/CachingDeviceAllocator.h`,
 * `MempoolId_t`.
 */

/** (0, 0) is the default pool, (n, 0) a CUDA graph's, (0, n) a MemPool's or one made by `graph_pool_handle()`. */
export type MempoolId = readonly [number, number];

/** `default`, `graph pool 3`, `memory pool 1`; `unknown` for null. */
export function poolWords(pair: MempoolId | null): string {
  if (pair === null) return 'unknown';
  const [a, b] = pair;
  if (a === 0 && b === 0) return 'default';
  if (b === 0) return `graph pool ${a}`;
  return a === 0 ? `memory pool ${b}` : `pool ${a}, ${b}`;
}

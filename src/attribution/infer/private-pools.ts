/** Memory of private pools: CUDA graphs hold it for every replay, whatever it was allocated for. */

import type { Component } from '../../model/vocabulary.js';
import { type Attribution, infer, labelAt } from '../blocks/attribution.js';

export const PRIVATE_POOL = 'inference.private-pool';

/**
 * A `torch.cuda.MemPool` for registered communication buffers or parameters is private too; there the stack knows
 * better.
 */
const OWN_POOLS: ReadonlySet<Component> = new Set<Component>([
  'graph_pool',
  'communication',
  'parameter',
  'gradient',
  'kv_cache',
  'checkpoint',
]);

/**
 * Upstream: torch `cuda/graphs.py`, `torch.cuda.graph`: what is allocated during capture comes from the graph's pool,
 * and stays in it.
 */
export function inferPrivatePools(of: Attribution): void {
  const { lives } = of;
  for (let row = 0; row < lives.count; row += 1) {
    if (lives.pool[row]! <= 0) continue;
    const { component, by } = labelAt(of, row);
    if (by !== 'none' && OWN_POOLS.has(component)) continue;
    const inside = by === 'none' ? 'no_stack' : component;
    infer(of, row, PRIVATE_POOL, { component: 'graph_pool', sub_component: inside, confidence: 'high' });
  }
}

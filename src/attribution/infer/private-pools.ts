/** Memory of private pools: CUDA graphs hold it for every replay, whatever it was allocated for. */

import type { Component } from '../../model/vocabulary.js';
import type { LabelledBlocks } from '../blocks/attribution.js';
import { byLabel, relabelling } from '../blocks/labels.js';

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
export function inferPrivatePools(of: LabelledBlocks): void {
  const { lives, label } = of;
  const hasOwnPool = byLabel(of, ({ component, by }) => by !== 'none' && OWN_POOLS.has(component));
  const isOfGraph = relabelling(of, PRIVATE_POOL, ({ component, by }) => [
    'graph_pool',
    by === 'none' ? 'no_stack' : component,
    'high',
  ]);
  for (let row = 0; row < lives.count; row += 1)
    if (lives.pool[row]! > 0 && hasOwnPool[label[row]!] !== 1) isOfGraph(row);
}

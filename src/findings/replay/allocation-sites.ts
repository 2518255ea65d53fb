/** The call site of every allocation of a recording, those that were live before it included. */

import type { Recording } from '../../allocator/replay/recording.js';
import { ALLOC } from '../../allocator/trace-action-codes.js';
import { readStacks, siteOf } from '../../derive/stacks/read-stacks.js';
import { getOrAdd } from '../../model/group-by.js';
import type { Store } from '../../store/store.js';

export interface AllocationSites {
  /** Requested bytes of each allocation. */
  readonly bytes: Float64Array;
  site(allocation: number): string;
}

export async function readAllocationSites(
  store: Store,
  { start, events, allocation, allocations }: Recording,
): Promise<AllocationSites> {
  /** Stack of each allocation; −1 where unknown. */
  const stackId = new Int32Array(allocations).fill(-1);
  const bytes = new Float64Array(allocations);
  for (let row = 0; row < start.blocks.count; row += 1) {
    stackId[row] = start.blocks.stackId[row]!;
    const requested = start.blocks.requestedBytes[row]!;
    bytes[row] = requested > 0 ? requested : start.blocks.sizeBytes[row]!;
  }
  for (let i = 0; i < events.count; i += 1) {
    if (events.action[i] !== ALLOC) continue;
    stackId[allocation[i]!] = events.stackId[i]!;
    bytes[allocation[i]!] = events.sizeBytes[i]!;
  }
  const stacks = await readStacks(store, new Set(stackId));
  const named = new Map<number, string>();
  return {
    bytes,
    site: (id) => getOrAdd(named, stackId[id]!, () => siteOf(stackId[id]!, stacks)),
  };
}

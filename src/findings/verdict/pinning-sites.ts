/** Which call sites keep partly free segments of the default pool from going back to the driver. */
import { type AllocatorState, freeHoles } from '../../allocator/walk/allocator-state.js';
import type { Store } from '../../store/store.js';
import { readStacks, siteOf } from '../stacks/read-stacks.js';

export interface PinningSite {
  readonly site: string;
  /** Partly free segments that it has live blocks in, and their actual bytes there. */
  readonly segments: number;
  readonly bytes: number;
}

/** In descending order of segments, then bytes. */
export async function pinningSites(store: Store, state: AllocatorState): Promise<PinningSite[]> {
  const { segments, blocks } = state;
  const holes = freeHoles(state);
  const partlyFree = new Set<number>();
  for (let i = 0; i < holes.count; i += 1) {
    const segment = holes.segment[i]!;
    const isLive = segments.firstBlock[segment]! < segments.firstBlock[segment + 1]!;
    if (isLive && segments.pool[segment] === 0) partlyFree.add(segment);
  }
  const byStack = new Map<number, { bytes: number; readonly segments: Set<number> }>();
  for (const segment of partlyFree) {
    for (let row = segments.firstBlock[segment]!; row < segments.firstBlock[segment + 1]!; row += 1) {
      const stackId = blocks.stackId[row]!;
      let group = byStack.get(stackId);
      if (group === undefined) {
        group = { bytes: 0, segments: new Set() };
        byStack.set(stackId, group);
      }
      group.bytes += blocks.sizeBytes[row]!;
      group.segments.add(segment);
    }
  }
  const stacks = await readStacks(store, byStack.keys());
  const bySite = new Map<string, { bytes: number; readonly segments: Set<number> }>();
  for (const [stackId, group] of byStack) {
    const site = siteOf(stackId, stacks);
    const known = bySite.get(site);
    if (known === undefined) bySite.set(site, group);
    else {
      known.bytes += group.bytes;
      for (const segment of group.segments) known.segments.add(segment);
    }
  }
  return [...bySite]
    .map(([site, group]) => ({ site, segments: group.segments.size, bytes: group.bytes }))
    .sort((a, b) => b.segments - a.segments || b.bytes - a.bytes || (a.site < b.site ? -1 : 1));
}

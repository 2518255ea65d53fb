/** Live blocks of a state, grouped by stack and by call site. */
import type { AllocatorState } from '../../../allocator/walk/allocator-state.js';
import { STACK_ORIGINS } from '../../../allocator/walk/allocator-state.js';
import { type Frame, frameText, visibleFrames } from '../../../attribution/frames/call-site.js';
import type { PeakGroup } from '../../../model/results/common.js';
import type { Store } from '../../../store/store.js';
import { readStacks, siteOf } from '../../stacks/read-stacks.js';

export interface LiveSet {
  readonly bytes: number;
  readonly blocks: number;
  readonly sites: readonly (PeakGroup & { readonly site: string })[];
  readonly stacks: readonly (PeakGroup & {
    readonly stack_id: number | null;
    readonly frames: readonly string[];
    readonly origin: string;
  })[];
}

/** Groups in descending order of bytes; together they hold every live block once. */
export async function liveSet(
  store: Store,
  state: AllocatorState,
  stacks?: ReadonlyMap<number, readonly Frame[]>,
): Promise<LiveSet> {
  const { blocks } = state;
  const byStack = new Map<string, { stackId: number; origin: string; bytes: number; count: number }>();
  let bytes = 0;
  for (let i = 0; i < blocks.count; i++) {
    const stackId = blocks.stackId[i]!;
    const origin = STACK_ORIGINS[blocks.stackOrigin[i]!] ?? 'none';
    const key = `${stackId} ${origin}`;
    let group = byStack.get(key);
    if (group === undefined) {
      group = { stackId, origin, bytes: 0, count: 0 };
      byStack.set(key, group);
    }
    group.bytes += blocks.sizeBytes[i]!;
    group.count += 1;
    bytes += blocks.sizeBytes[i]!;
  }
  const groups = [...byStack.values()].sort((a, b) => b.bytes - a.bytes || a.stackId - b.stackId);
  const wanted = groups.map((group) => group.stackId);
  const frames = stacks ?? (await readStacks(store, wanted));
  const bySite = new Map<string, { site: string; bytes: number; count: number }>();
  for (const group of groups) {
    const named = siteOf(group.stackId, frames);
    // The free's stack only substitutes for an unrecorded allocation; mixing both would blame the freeing line.
    const site = group.origin === 'free_event' ? `${named} (freed there; allocated before the recording)` : named;
    const known = bySite.get(site);
    if (known === undefined) bySite.set(site, { site, bytes: group.bytes, count: group.count });
    else {
      known.bytes += group.bytes;
      known.count += group.count;
    }
  }
  return {
    bytes,
    blocks: blocks.count,
    sites: [...bySite.values()].sort((a, b) => b.bytes - a.bytes || (a.site < b.site ? -1 : 1)),
    stacks: groups.map((group) => ({
      stack_id: group.stackId < 0 ? null : group.stackId,
      origin: group.origin,
      bytes: group.bytes,
      count: group.count,
      frames: visibleFrames(frames.get(group.stackId) ?? []).map(frameText),
    })),
  };
}

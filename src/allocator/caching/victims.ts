/** Which free segments torch gives back to the driver, short of a flush. */
import { type Block, isExpandable, isSplit, type Pool } from './block.js';
import { setsInOrder } from './block-space.js';
import type { FreeSet } from './free-set.js';

/** Wholly free cudaMalloc segments in the order of a flush. */
export function wholeSegments<S>(pool: Pool<S>): Block<S>[] {
  const blocks: Block<S>[] = [];
  for (const set of setsInOrder(pool))
    for (const block of set.values()) if (!isExpandable(block) && !isSplit(block)) blocks.push(block);
  return blocks;
}

/** Of `garbage_collect_cached_blocks`: in rounds those of at least the mean age, until `bytes` are together. */
export function garbageOf<S>(pool: Pool<S>, bytes: number): Block<S>[] {
  const garbage: Block<S>[] = [];
  const ageOf = (block: Block<S>): number => pool.calls - block.gcBase;
  let count = 0;
  let ages = 0;
  for (const set of setsInOrder(pool)) {
    for (const block of set.values()) {
      // Torch counts an unsplit expandable block but cannot free it.
      if (isSplit(block)) continue;
      count += 1;
      ages += ageOf(block);
    }
  }
  let candidates = wholeSegments(pool);
  let reclaimed = 0;
  let freed = true;
  while (reclaimed < bytes && freed && count > 0) {
    const limit = ages / count;
    freed = false;
    const kept: Block<S>[] = [];
    for (const block of candidates) {
      const age = ageOf(block);
      if (age < limit) {
        kept.push(block);
        continue;
      }
      freed = true;
      reclaimed += block.sizeBytes;
      ages -= age;
      count -= 1;
      garbage.push(block);
    }
    candidates = kept;
  }
  return garbage;
}

/**
 * Of `release_available_cached_blocks`: the one oversize segment that is large enough, else the largest ones until they
 * are together. `set`: of the request's stream; its cursor moves.
 */
export function oversizeVictims<S>(
  set: FreeSet<Block<S>> | undefined,
  rounded: number,
  maxSplitBytes: number,
): { victims: Block<S>[]; isEnough: boolean } {
  if (set === undefined) return { victims: [], isEnough: false };
  const least = Math.max(rounded, maxSplitBytes);
  // An oversize block in a segment from before the limit can have neighbours; such a segment cannot be released.
  if (set.seek(least) && !isExpandable(set.current()) && !isSplit(set.current()))
    return { victims: [set.current()], isEnough: true };
  const victims: Block<S>[] = [];
  let freed = 0;
  while (freed < least && set.retreat()) {
    const block = set.current();
    if (block.sizeBytes < maxSplitBytes) break;
    if (isExpandable(block) || isSplit(block)) continue;
    victims.push(block);
    freed += block.sizeBytes;
  }
  return { victims, isEnough: freed >= least };
}

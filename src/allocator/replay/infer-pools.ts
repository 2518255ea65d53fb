/**
 * Private pools of a recording whose entries do not name them (before torch 2.12) and that were gone by the dump. A
 * flush frees the default pool's segments first, the large before the small ones, then of each private pool the small
 * before the large ones (`release_cached_blocks`): large segments behind small ones were of a private pool. How many of
 * the small ones between were so too is not seen; each number is a guess that a replay has to prove.
 */

import { SMALL_SEGMENT_BYTES } from '../settings.js';
import { ALLOC, SEGMENT_ALLOC, SEGMENT_FREE } from '../trace-action-codes.js';
import { AddressTable } from '../walk/address-table.js';
import type { Recording } from './recording.js';

/** Above all numbers that columns give to named pools. */
const FIRST_UNNAMED = 1 << 30;

/** A segment from the entry that brought it (−1: before the trace) to the one that gave it back. */
interface SegmentSpan {
  readonly address: number;
  readonly bytes: number;
  readonly from: number;
  readonly to: number;
}

/** Freed by one flush: large segments of one private pool, and the small ones right before them. */
interface FreedPool {
  readonly large: readonly SegmentSpan[];
  /** The pool's are the last of them: none, some or all. */
  readonly small: readonly SegmentSpan[];
}

/** The private pools that flushes of the recording show, in order. O(entries). */
export function freedPools(recording: Recording): readonly FreedPool[] {
  const pools: FreedPool[] = [];
  for (const flush of flushesOf(recording)) {
    let at = 0;
    const take = (isWanted: (span: SegmentSpan) => boolean): SegmentSpan[] => {
      const first = at;
      while (at < flush.length && isWanted(flush[at]!)) at += 1;
      return flush.slice(first, at);
    };
    take((span) => !isSmall(span));
    while (at < flush.length) {
      const small = take(isSmall);
      const large = take((span) => !isSmall(span));
      if (large.length > 0) pools.push({ small, large });
    }
  }
  return pools;
}

/** The recording with these pools; `smalls`: of each, how many of the small segments before it are its own. */
export function withFreedPools(
  recording: Recording,
  pools: readonly FreedPool[],
  smalls: readonly number[],
): Recording {
  const { events, start } = recording;
  const poolOf = new Map(recording.poolOf);
  const startPools = Int32Array.from(start.segments.pool);
  for (const [i, { small, large }] of pools.entries()) {
    const pool = FIRST_UNNAMED + i;
    for (const span of [...small.slice(small.length - smalls[i]!), ...large]) {
      const end = span.address + span.bytes;
      if (span.from < 0) {
        const row = start.segments.address.indexOf(span.address);
        if (row >= 0) startPools[row] = pool;
      } else poolOf.set(events.seq[span.from]!, pool);
      for (let row = Math.max(0, span.from); row < span.to; row += 1) {
        const address = events.address[row]!;
        if (events.action[row] === ALLOC && address >= span.address && address < end)
          poolOf.set(events.seq[row]!, pool);
      }
    }
  }
  const segments = { ...start.segments, pool: startPools };
  return {
    ...recording,
    poolOf,
    poolId: (pool) => (pool >= FIRST_UNNAMED ? [pool, 0] : recording.poolId(pool)),
    start: { ...start, segments },
    inferredPools: pools.length,
  };
}

/** Runs of segment_free entries with nothing between. */
function flushesOf({ events, start }: Recording): SegmentSpan[][] {
  const { count, action, address, sizeBytes } = events;
  const broughtAt = new AddressTable();
  for (let i = 0; i < start.segments.count; i += 1) broughtAt.set(start.segments.address[i]!, -1);
  const flushes: SegmentSpan[][] = [];
  for (let row = 0; row < count; row += 1) {
    if (action[row] === SEGMENT_ALLOC) broughtAt.set(address[row]!, row);
    if (action[row] !== SEGMENT_FREE) continue;
    if (row === 0 || action[row - 1] !== SEGMENT_FREE) flushes.push([]);
    flushes.at(-1)!.push({
      address: address[row]!,
      bytes: sizeBytes[row]!,
      from: broughtAt.get(address[row]!),
      to: row,
    });
  }
  return flushes;
}

const isSmall = ({ bytes }: SegmentSpan): boolean => bytes === SMALL_SEGMENT_BYTES;

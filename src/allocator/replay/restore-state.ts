/** Sets the allocator model into a recorded state: segments, live blocks, and the free blocks that follow from them. */

import { type Block, type PoolId, Segment } from '../caching/block.js';
import type { AllocatorParts } from '../caching/caching-allocator.js';
import { type Gauge, move } from '../caching/statistics.js';
import { SMALL_SEGMENT_BYTES } from '../settings.js';
import type { AllocatorState } from '../walk/allocator-state.js';
import { reservationKey } from './recording.js';

/** Address space of a reservation with an unknown end: more than any device has. */
export const OPEN_END_BYTES = 2 ** 44;

export interface RestoreOptions {
  readonly poolId: (pool: number) => PoolId;
  /** `Recording.reservationStarts`. */
  readonly reservationStarts: ReadonlyMap<string, number>;
  /** `Recording.customPools`. */
  readonly customPools: ReadonlySet<number>;
  /** Page unit of large expandable segments. */
  readonly largeUnitBytes: number;
  /** `Recording.reservationBytes`. */
  readonly reservationBytes: number;
  /** Creation order of segments from before the recording, where it is known or learnt: addresses, oldest first. */
  readonly segmentOrder?: readonly number[] | undefined;
  /** Takes mapped runs of expandable segments for cudaMalloc segments. */
  readonly asCudaMalloc?: boolean;
}

/**
 * Fills an allocator that is empty. Ages and creation counters of what was there before the recording are unknown:
 * without `segmentOrder` they ascend with the address. Returns the blocks of `start.blocks`, by row.
 */
export function restoreState<S>(parts: AllocatorParts<S>, start: AllocatorState, options: RestoreOptions): Block<S>[] {
  const blocks: Block<S>[] = new Array<Block<S>>(start.blocks.count);
  const { segments } = start;
  const counters = creationCounters(parts, start, options.segmentOrder);
  /** Of each reservation: its last block so far. */
  const reservations = new Map<string, { readonly segment: Segment<S>; last: Block<S> | null; end: number }>();
  for (let row = 0; row < segments.count; row += 1) {
    const stream = Number.isNaN(segments.stream[row]!) ? 0 : segments.stream[row]!;
    const number = segments.pool[row]!;
    const pair = parts.pools.add(options.poolId(number), { customAllocator: options.customPools.has(number) });
    const pool = segments.small[row] === 1 ? pair.small : pair.large;
    const addr = segments.address[row]!;
    const bytes = segments.totalBytes[row]!;
    if (segments.expandable[row] !== 1 || options.asCudaMalloc === true) {
      const segment = newSegment(parts, { addr, sizeBytes: bytes, stream, pool, counter: counters[row]! }, 0);
      move(parts.statistics.segment, 1);
      fill(parts, start, row, segment, null, blocks);
      continue;
    }
    const key = reservationKey(segments.stream[row]!, segments.pool[row]!, segments.small[row]!);
    let reservation = reservations.get(key);
    if (reservation === undefined) {
      const base = Math.min(addr, options.reservationStarts.get(key) ?? addr);
      const unit = pool.kind === 'small' ? SMALL_SEGMENT_BYTES : options.largeUnitBytes;
      const bytes = Math.min(OPEN_END_BYTES, Math.ceil(options.reservationBytes / unit) * unit);
      const place = { addr: base, sizeBytes: bytes, stream, pool, counter: counters[row]! };
      const segment = newSegment(parts, place, unit);
      reservation = { segment, last: null, end: base };
      reservations.set(key, reservation);
    }
    if (addr > reservation.end) reservation.last = unmapped(parts, reservation, addr);
    reservation.last = fill(parts, start, row, reservation.segment, reservation.last, blocks);
    reservation.end = addr + bytes;
  }
  for (const reservation of reservations.values()) {
    const end = reservation.segment.addr + reservation.segment.sizeBytes;
    if (end > reservation.end) unmapped(parts, reservation, end);
  }
  // Before the recording nothing is known to have been higher.
  for (const gauge of Object.values(parts.statistics) as (Gauge | number)[])
    if (typeof gauge === 'object') gauge.peak = gauge.current;
  return blocks;
}

/** A counter for each row of `start.segments`. */
function creationCounters<S>(
  parts: AllocatorParts<S>,
  { segments }: AllocatorState,
  order: readonly number[] | undefined,
): number[] {
  const made = Array.from({ length: segments.count }, () => parts.nextSegment());
  if (order === undefined) return made;
  const place = new Map(order.map((addr, i) => [addr, i]));
  return made.map((_, row) => made[place.get(segments.address[row]!) ?? row]!);
}

function newSegment<S>(
  parts: AllocatorParts<S>,
  place: Pick<Segment<S>, 'addr' | 'sizeBytes' | 'stream' | 'pool' | 'counter'>,
  unitBytes: number,
): Segment<S> {
  const segment = new Segment({ ...place, unitBytes });
  parts.segments.add(segment);
  return segment;
}

function link<S>(segment: Segment<S>, last: Block<S> | null, block: Block<S>): Block<S> {
  block.prev = last;
  if (last === null) segment.first = block;
  else last.next = block;
  return block;
}

/** The unmapped range from the end of what is there to `to`. */
function unmapped<S>(
  parts: AllocatorParts<S>,
  reservation: { readonly segment: Segment<S>; readonly last: Block<S> | null; readonly end: number },
  to: number,
): Block<S> {
  const { segment, last, end } = reservation;
  const block = link(segment, last, parts.space.makeBlock(segment, end, to - end, false));
  parts.space.putUnmapped(block);
  return block;
}

/** The blocks of segment `row` behind `last`, and the free ones between them; returns the last. */
function fill<S>(
  parts: AllocatorParts<S>,
  { segments, blocks }: AllocatorState,
  row: number,
  segment: Segment<S>,
  before: Block<S> | null,
  restored: Block<S>[],
): Block<S> {
  const { space, statistics } = parts;
  const free: Block<S>[] = [];
  let last = before;
  let at = segments.address[row]!;
  const end = at + segments.totalBytes[row]!;
  const add = (to: number): Block<S> => {
    const block = link(segment, last, space.makeBlock(segment, at, to - at, true));
    last = block;
    at = to;
    return block;
  };
  for (let i = segments.firstBlock[row]!; i < segments.firstBlock[row + 1]!; i += 1) {
    if (blocks.address[i]! > at) free.push(add(blocks.address[i]!));
    const block = add(at + blocks.sizeBytes[i]!);
    restored[i] = block;
    block.requestedBytes = blocks.requestedBytes[i]! >= 0 ? blocks.requestedBytes[i]! : block.sizeBytes;
    move(statistics.activeBytes, block.sizeBytes);
    move(statistics.requestedBytes, block.requestedBytes);
    if (blocks.state[i] === 0) {
      block.state = 'active_allocated';
      move(statistics.allocation, 1);
      move(statistics.allocatedBytes, block.sizeBytes);
    } else {
      block.state = 'active_pending_free';
      parts.pending.hold(block);
    }
  }
  if (end > at) free.push(add(end));
  // Only now all neighbours are known, by which free blocks are counted.
  for (const block of free) space.putFree(block);
  const bytes = segments.totalBytes[row]!;
  segment.pool.reservedBytes += bytes;
  move(statistics.reservedBytes, bytes);
  return last!;
}

/**
 * What a replay does to the model where the record shows something else than the model would have done: it repeats the
 * record by force and goes on. A model that went astray usually agrees with the record again after a few allocations.
 */
import { type Block, type PoolId, Segment } from '../caching/block.js';
import type { AllocatorParts } from '../caching/caching-allocator.js';
import { move } from '../caching/statistics.js';
import { roundSize } from '../rounding.js';
import type { AllocatorSettings } from '../settings.js';

/** A free block that contains `addr`, wherever it is. */
export function freeBlockAt<S>(parts: AllocatorParts<S>, addr: number): Block<S> | undefined {
  for (const segment of parts.segments) {
    if (addr < segment.addr || addr >= segment.addr + segment.sizeBytes) continue;
    for (let block: Block<S> | null = segment.first; block !== null && block.addr <= addr; block = block.next)
      if (block.state === 'inactive' && block.mapped && addr < block.addr + block.sizeBytes) return block;
  }
  return undefined;
}

export interface ForcedPlacement<S> {
  readonly block: Block<S>;
  /** The address was inside a free block: the bytes before it must have been in use, which the model does not know. */
  readonly midBlock: boolean;
}

/** Allocates at `addr`; undefined if the model has nothing free there. */
export function placeAt<S>(
  parts: AllocatorParts<S>,
  settings: AllocatorSettings,
  addr: number,
  requestedBytes: number,
): ForcedPlacement<S> | undefined {
  const block = freeBlockAt(parts, addr);
  const rounded = roundSize(requestedBytes, settings);
  if (block === undefined || block.addr + block.sizeBytes - addr < rounded) return undefined;
  parts.space.dropFree(block);
  const midBlock = block.addr < addr;
  if (midBlock) parts.space.putFree(parts.space.splitFront(block, addr - block.addr));
  return { block: parts.handOut(block, requestedBytes), midBlock };
}

/** A cudaMalloc segment that the model did not ask for. */
export function addSegment<S>(
  parts: AllocatorParts<S>,
  addr: number,
  bytes: number,
  owner: { readonly stream: number; readonly poolId: PoolId; readonly isSmall: boolean },
): void {
  const pair = parts.pools.add(owner.poolId, {});
  const pool = owner.isSmall ? pair.small : pair.large;
  const place = { addr, sizeBytes: bytes, stream: owner.stream, pool, unitBytes: 0, counter: parts.nextSegment() };
  const segment = new Segment<S>(place);
  segment.first = parts.space.makeBlock(segment, addr, bytes, true);
  parts.segments.add(segment);
  pool.reservedBytes += bytes;
  move(parts.statistics.segment, 1);
  move(parts.statistics.reservedBytes, bytes);
  parts.space.putFree(segment.first);
}

/** Pages mapped that the model did not ask for; false if it knows no unmapped range there. */
export function mapRange<S>(parts: AllocatorParts<S>, addr: number, bytes: number): boolean {
  // The end of a reservation is not known, and the model's may reach over the next one.
  let nearest: Segment<S> | undefined;
  for (const segment of parts.segments)
    if (segment.unitBytes > 0 && segment.addr <= addr && segment.addr > (nearest?.addr ?? -1)) nearest = segment;
  for (let block = nearest?.first ?? null; block !== null && block.addr <= addr; block = block.next)
    if (!block.mapped && addr < block.addr + block.sizeBytes && parts.expandable.mapAt(block, addr, bytes, null))
      return true;
  return false;
}

/**
 * Memory given back that the model kept: a wholly free segment, or the pages of a free range. False if the model has
 * live blocks there.
 */
export function giveBack<S>(parts: AllocatorParts<S>, addr: number): boolean {
  const block = freeBlockAt(parts, addr);
  if (block === undefined) return false;
  if (block.segment.unitBytes > 0) parts.expandable.unmap(block);
  else if (block.addr === addr && block.prev === null && block.next === null) parts.releaseSegment(block);
  else return false;
  return true;
}

/**
 * Expandable segments: a reservation of address space per (pool, stream) whose pages come and go. Upstream:
 * `try_allocate_expandable_block`, `find_expandable_block`, `map_block` and `unmap_block` in torch
 * `c10/cuda/CUDACachingAllocator.cpp`, from 2.1.
 */

import { type AllocatorSettings, SMALL_SEGMENT_BYTES } from '../settings.js';
import { type Block, type Pool, Segment } from './block.js';
import type { BlockSpace } from './block-space.js';
import type { Driver } from './driver.js';

/** What happens outside this file when pages are mapped or unmapped. */
export interface PageListener<S> {
  mapped(block: Block<S>, bytes: number, addr: number): void;
  unmapped(segment: Segment<S>, addr: number, bytes: number): void;
  created(segment: Segment<S>): void;
  destroyed(segment: Segment<S>): void;
}

/** Where a request would be put in a reservation, growing it if what is free there is too small. */
export interface GrowingEdge<S> {
  readonly segment: Segment<S>;
  readonly addr: number;
  readonly bytes: number;
  /** End of the last mapped range. */
  readonly mappedTo: number;
}

/** Reserved address space exceeds the device's memory by this factor, so that it outlasts holes. */
export const RESERVATION_FACTOR = 1.125;

export class ExpandableSegments<S> {
  private readonly space: BlockSpace<S>;
  private readonly driver: Driver;
  private readonly settings: AllocatorSettings;
  private readonly listener: PageListener<S>;
  private readonly nextSegment: () => number;

  constructor(
    space: BlockSpace<S>,
    driver: Driver,
    settings: AllocatorSettings,
    listener: PageListener<S>,
    nextSegment: () => number,
  ) {
    this.space = space;
    this.driver = driver;
    this.settings = settings;
    this.listener = listener;
    this.nextSegment = nextSegment;
  }

  /**
   * A free block of at least `bytes`, in no set, mapping what it lacks; null if the device lacks the memory. What was
   * mapped before that became clear stays mapped, as in torch.
   */
  allocate(pool: Pool<S>, stream: number, bytes: number, stack: S | null): Block<S> | null {
    let candidate = this.find(pool, stream, bytes);
    if (!candidate.mapped && !this.map(candidate, Math.min(candidate.sizeBytes, bytes), stack)) return null;
    while (candidate.sizeBytes < bytes) {
      const next = candidate.next;
      // A reservation smaller than the request: torch would run past its end, but mapping all of it fails before.
      if (next === null) return null;
      if (!this.map(next, Math.min(bytes - candidate.sizeBytes, next.sizeBytes), stack)) return null;
      candidate = next;
    }
    this.space.dropFree(candidate);
    return candidate;
  }

  /** Gives back the whole pages inside a free block. What is left of it at the ends stays free. */
  unmap(block: Block<S>): void {
    const { segment } = block;
    const [low, high] = this.wholePages(block);
    if (low >= high) return;
    this.space.dropFree(block);
    if (low > block.addr) this.space.putFree(this.space.splitFront(block, low - block.addr));
    if (high < block.addr + block.sizeBytes) this.space.putFree(this.space.splitRear(block, high - block.addr));
    block.mapped = false;
    block.segmentStack = null;
    this.driver.unmap(low, high - low);
    segment.pool.reservedBytes -= high - low;
    this.listener.unmapped(segment, low, high - low);
    this.space.merge(block);
    if (block.prev === null && block.next === null) this.listener.destroyed(segment);
    else this.space.putUnmapped(block);
  }

  /** Whether {@link unmap} would give anything back. */
  holdsPage(block: Block<S>): boolean {
    const [low, high] = this.wholePages(block);
    return low < high;
  }

  /** From the first page that begins in the block to the end of the last that ends in it. */
  private wholePages({ segment, addr, sizeBytes }: Block<S>): readonly [number, number] {
    const unit = segment.unitBytes;
    // The grid starts at the reservation, which is not aligned to the unit.
    return [
      segment.addr + Math.ceil((addr - segment.addr) / unit) * unit,
      segment.addr + Math.floor((addr + sizeBytes - segment.addr) / unit) * unit,
    ];
  }

  /** Whether {@link allocate} would find what is mapped already, and ask the driver for nothing. */
  serves(pool: Pool<S>, stream: number, bytes: number): boolean {
    const block = this.search(pool, stream, bytes);
    return block?.mapped === true && block.sizeBytes >= bytes;
  }

  /** See {@link GrowingEdge}; null where no reservation has the space. */
  edge(pool: Pool<S>, stream: number, bytes: number): GrowingEdge<S> | null {
    const block = this.search(pool, stream, bytes);
    if (block === null) return null;
    let mappedTo = block.segment.addr;
    for (let at: Block<S> | null = block.segment.first; at !== null; at = at.next)
      if (at.mapped) mappedTo = at.addr + at.sizeBytes;
    return { segment: block.segment, addr: block.addr, bytes, mappedTo };
  }

  /** The lowest place where free and unmapped ranges in a row make up `bytes`; a new reservation if there is none. */
  private find(pool: Pool<S>, stream: number, bytes: number): Block<S> {
    return this.search(pool, stream, bytes) ?? this.reserve(pool, stream);
  }

  private search(pool: Pool<S>, stream: number, bytes: number): Block<S> | null {
    for (const range of pool.unmapped.get(stream) ?? []) {
      const start: Block<S> = range.prev?.state === 'inactive' ? range.prev : range;
      let sum = 0;
      for (let block: Block<S> | null = start; sum < bytes; block = block.next) {
        if (block === null || block.state !== 'inactive') break;
        sum += block.sizeBytes;
      }
      if (sum >= bytes) return start;
    }
    return null;
  }

  private reserve(pool: Pool<S>, stream: number): Block<S> {
    const unitBytes = pool.kind === 'small' ? SMALL_SEGMENT_BYTES : this.settings.largeSegmentBytes;
    const sizeBytes = Math.ceil((RESERVATION_FACTOR * this.driver.memory().totalBytes) / unitBytes) * unitBytes;
    const addr = this.driver.reserve(sizeBytes, { stream, poolId: pool.id, kind: pool.kind });
    const segment = new Segment<S>({ addr, sizeBytes, stream, pool, unitBytes, counter: this.nextSegment() });
    segment.first = this.space.makeBlock(segment, addr, sizeBytes, false);
    this.space.putUnmapped(segment.first);
    this.listener.created(segment);
    return segment.first;
  }

  /**
   * Maps [addr, addr + bytes) of an unmapped block: a replay repeats what was recorded although the model would not do
   * it.
   */
  mapAt(block: Block<S>, addr: number, bytes: number, stack: S | null): boolean {
    const { segment } = block;
    if (addr < block.addr || addr + bytes > block.addr + block.sizeBytes || bytes % segment.unitBytes !== 0)
      return false;
    if (addr > block.addr) {
      this.space.dropUnmapped(block);
      this.space.putUnmapped(this.space.splitFront(block, addr - block.addr));
      this.space.putUnmapped(block);
    }
    return this.map(block, bytes, stack);
  }

  /** Maps whole pages covering `wanted` bytes from the start of an unmapped block; all or nothing. */
  private map(block: Block<S>, wanted: number, stack: S | null): boolean {
    const unit = block.segment.unitBytes;
    const bytes = Math.ceil(wanted / unit) * unit;
    const { addr } = block;
    if (!this.driver.map(addr, bytes)) return false;
    this.space.dropUnmapped(block);
    if (bytes < block.sizeBytes) this.space.putUnmapped(this.space.splitRear(block, bytes));
    block.mapped = true;
    block.segmentStack = stack;
    block.segment.pool.reservedBytes += bytes;
    this.space.merge(block);
    this.space.putFree(block);
    this.listener.mapped(block, bytes, addr);
    return true;
  }
}

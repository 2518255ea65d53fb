/** The allocator's state in the shape of a memory snapshot. Upstream: `snapshot()` in `CUDACachingAllocator.cpp`. */
import type { BlockState } from '../../model/vocabulary.js';
import { type Block, isExpandable, type PoolId, type Segment } from './block.js';

export interface BlockSnapshot<S> {
  readonly addr: number;
  readonly sizeBytes: number;
  /** Stale on inactive blocks, as in torch. */
  readonly requestedBytes: number;
  readonly state: BlockState;
  readonly stack: S | null;
}

export interface SegmentSnapshot<S> {
  readonly addr: number;
  readonly totalBytes: number;
  readonly allocatedBytes: number;
  readonly activeBytes: number;
  /** Σ requested bytes of the active blocks. */
  readonly requestedBytes: number;
  readonly stream: number;
  readonly segmentType: 'small' | 'large';
  readonly poolId: PoolId;
  readonly isExpandable: boolean;
  readonly stack: S | null;
  readonly blocks: readonly BlockSnapshot<S>[];
}

/** In address order. A mapped run of an expandable segment is a segment of its own; unmapped ranges are not shown. */
export function snapshotSegments<S>(segments: Iterable<Segment<S>>): SegmentSnapshot<S>[] {
  const shown: SegmentSnapshot<S>[] = [];
  for (const segment of segments) {
    for (let block: Block<S> | null = segment.first; block !== null; block = block.next) {
      const startsRun = block.mapped && (block.prev === null || !block.prev.mapped);
      if (startsRun) shown.push(snapshotRun(block));
    }
  }
  return shown.sort((a, b) => a.addr - b.addr);
}

/** From `head` to the end of its segment or mapped run. */
function snapshotRun<S>(head: Block<S>): SegmentSnapshot<S> {
  const { segment } = head;
  const blocks: BlockSnapshot<S>[] = [];
  let totalBytes = 0;
  let allocatedBytes = 0;
  let activeBytes = 0;
  let requestedBytes = 0;
  for (let block: Block<S> | null = head; block?.mapped; block = block.next) {
    totalBytes += block.sizeBytes;
    if (block.state === 'active_allocated') allocatedBytes += block.sizeBytes;
    if (block.state !== 'inactive') {
      activeBytes += block.sizeBytes;
      requestedBytes += block.requestedBytes;
    }
    const { addr, sizeBytes, state, stack } = block;
    blocks.push({ addr, sizeBytes, requestedBytes: block.requestedBytes, state, stack });
  }
  return {
    addr: head.addr,
    totalBytes,
    allocatedBytes,
    activeBytes,
    requestedBytes,
    stream: segment.stream,
    segmentType: segment.pool.kind,
    poolId: segment.pool.id,
    isExpandable: isExpandable(head),
    stack: head.segmentStack,
    blocks,
  };
}

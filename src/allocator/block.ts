/** What the allocator model is made of: segments obtained from the driver, cut into blocks linked by address. */
import type { BlockState } from '../model/vocabulary.js';
import type { FreeSet } from './free-set.js';

/**
 * One pool of one pool id. A block is only ever reused by its own pool and stream, so each stream has its own free set.
 * `(0, 0)` is the default pool id, as in `segment_pool_id` of a snapshot.
 */
export interface Pool<S> {
  readonly id: readonly [number, number];
  readonly kind: 'small' | 'large';
  readonly freeSets: Map<number, FreeSet<Block<S>>>;
}

export interface Segment<S> {
  readonly addr: number;
  readonly sizeBytes: number;
  readonly stream: number;
  readonly pool: Pool<S>;
  /** Stack of the call that made cudaMalloc necessary. */
  readonly stack: S | null;
  /** The block at the lowest address. */
  first: Block<S>;
}

/** A sub-range of a segment. Callers hold it as the handle of a live allocation and must treat it as read-only. */
export interface Block<S> {
  addr: number;
  /** Actual size: the rounded request, or more where the remainder was too small to cut off. */
  sizeBytes: number;
  /** Last request served here; stale on inactive blocks, exactly as torch exports it. */
  requestedBytes: number;
  /** Second sorting key of the free set, after the size. */
  tie: number;
  state: BlockState;
  /** Stack of the allocation; null when not recorded and on inactive blocks. */
  stack: S | null;
  prev: Block<S> | null;
  next: Block<S> | null;
  readonly segment: Segment<S>;
}

/** Whether a block shares its segment with others; an unsplit inactive block is a wholly free segment. */
export function isSplit<S>(block: Block<S>): boolean {
  return block.prev !== null || block.next !== null;
}

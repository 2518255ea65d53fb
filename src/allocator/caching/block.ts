/** What the allocator model is made of: segments obtained from the driver, cut into blocks linked by address. */
import type { BlockState } from '../../model/vocabulary.js';
import type { FreeSet } from './free-set.js';

/**
 * Pool id as in `segment_pool_id` of a snapshot: `(0, 0)` default, `(n, 0)` made by a CUDA-graph capture on its own,
 * `(0, n)` by `torch.cuda.MemPool` or `graph_pool_handle()`.
 */
export type PoolId = readonly [number, number];

/** One half, small or large, of the default pool or of a private one. */
export interface Pool<S> {
  readonly id: PoolId;
  readonly kind: 'small' | 'large';
  /** `MemPool(no_split=True)`, torch 2.12: its blocks are handed out whole. */
  readonly noSplit: boolean;
  /** A MemPool with an allocator of its own is never expandable. */
  readonly customAllocator: boolean;
  /** A block is only ever reused by its own pool and stream, so each stream has its own set. */
  readonly freeSets: Map<number, FreeSet<Block<S>>>;
  /** Unmapped ranges of expandable segments by stream, in address order. */
  readonly unmapped: Map<number, Block<S>[]>;
  /** Searches of this pool so far: the clock of garbage collection. */
  calls: number;
  /** Bytes obtained from the driver. */
  reservedBytes: number;
}

/** Where a segment is and whose. */
export interface SegmentPlace<S> {
  readonly addr: number;
  /** cudaMalloc: what was obtained. Expandable: the reserved address space. */
  readonly sizeBytes: number;
  readonly stream: number;
  readonly pool: Pool<S>;
  /** Page unit of an expandable segment; 0 for cudaMalloc. */
  readonly unitBytes: number;
  /** Ascending in order of creation: the segment counter of torch 2.13. */
  readonly counter: number;
}

/**
 * One cudaMalloc, or one reservation of address space whose pages are mapped and unmapped (expandable). A class for the
 * same reason as {@link Block}.
 */
export class Segment<S> implements SegmentPlace<S> {
  readonly addr: number;
  readonly sizeBytes: number;
  readonly stream: number;
  readonly pool: Pool<S>;
  readonly unitBytes: number;
  readonly counter: number;
  /** The block at the lowest address, added by the maker of the segment. */
  first!: Block<S>;
  /** The set of free blocks of its pool and stream, once there is one: looked up a million times in a replay. */
  freeSet: FreeSet<Block<S>> | undefined = undefined;

  constructor({ addr, sizeBytes, stream, pool, unitBytes, counter }: SegmentPlace<S>) {
    this.addr = addr;
    this.sizeBytes = sizeBytes;
    this.stream = stream;
    this.pool = pool;
    this.unitBytes = unitBytes;
    this.counter = counter;
  }
}

/**
 * A sub-range of a segment. Callers hold it as the handle of a live allocation and must treat it as read-only. A class,
 * so that all blocks have one hidden shape: the model touches several per event.
 */
export class Block<S> {
  addr = Number.NaN;
  /** Actual size: the rounded request, or more where the remainder was too small to cut off. */
  sizeBytes = Number.NaN;
  /** Last request served here; stale on inactive blocks, exactly as torch exports it. */
  requestedBytes = 0;
  state: BlockState = 'inactive';
  /** False for an unmapped range of an expandable segment, which is inactive and in no free set. */
  mapped: boolean;
  prev: Block<S> | null = null;
  next: Block<S> | null = null;
  readonly segment: Segment<S>;
  /** Second sorting key of the free set, after the size. */
  tie = 0;
  /** The block creation counter of torch 2.12. */
  readonly counter: number;
  /** Stack of the allocation; null when not recorded and on inactive blocks. */
  stack: S | null = null;
  /** Stack of the call that obtained the memory from the driver; of the lowest part where several were merged. */
  segmentStack: S | null = null;
  /** Streams other than its own that use it (`record_stream`); null if none. */
  streamUses: number[] | null = null;
  /** Events outstanding before a pending free completes. */
  eventCount = 0;
  /** How often this object became a pending free: distinguishes stale events from current ones. */
  pendingGeneration = 0;
  /** `calls` of its pool when it last became free. */
  gcBase = 0;
  /**
   * For owners of handles: the allocation it was last handed out for. The object may serve another one by the time of
   * the next access.
   */
  owner = -1;

  constructor(segment: Segment<S>, addr: number, sizeBytes: number, mapped: boolean, counter: number) {
    this.segment = segment;
    this.addr = addr;
    this.sizeBytes = sizeBytes;
    this.mapped = mapped;
    this.counter = counter;
  }
}

/** Whether a block shares its segment with others; an unsplit inactive cudaMalloc block is a wholly free segment. */
export function isSplit<S>(block: Block<S>): boolean {
  return block.prev !== null || block.next !== null;
}

export function isExpandable<S>(block: Block<S>): boolean {
  return block.segment.unitBytes > 0;
}

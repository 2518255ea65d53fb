/**
 * The whole state of one device's allocator at one moment, as columns: what the backward walk yields and the verdicts
 * read.
 */

/** Segments in ascending order of address. Expandable segments appear as their mapped runs, as in a snapshot. */
export interface StateSegments {
  readonly count: number;
  readonly address: Float64Array;
  readonly totalBytes: Float64Array;
  /** NaN where unknown. */
  readonly stream: Float64Array;
  /** 1 = small pool, 0 = large pool. */
  readonly small: Uint8Array;
  /** Pool id as the caller numbers them; 0 = default pool. */
  readonly pool: Int32Array;
  readonly expandable: Uint8Array;
  /** 1 where small and pool are inferred (from sizes and neighbours), because the segment is not in the final state. */
  readonly inferred: Uint8Array;
  /**
   * Blocks of segment i are rows `firstBlock[i]` to `firstBlock[i + 1]` − 1; equal numbers mean a wholly free segment.
   */
  readonly firstBlock: Int32Array;
}

/** Active blocks (allocated or pending free) in ascending order of address. */
export interface StateBlocks {
  readonly count: number;
  readonly address: Float64Array;
  /** Actual bytes, the best estimate where uncertain. */
  readonly sizeBytes: Float64Array;
  /** Bounds of the actual bytes; equal to `sizeBytes` where it is certain. */
  readonly minBytes: Float64Array;
  readonly maxBytes: Float64Array;
  /** −1 where unknown. */
  readonly requestedBytes: Float64Array;
  /** Index in ENUMS.block_state: 0 allocated, 1 pending free. */
  readonly state: Uint8Array;
  /** Row of the segment. */
  readonly segment: Int32Array;
  /** −1 where unknown. */
  readonly stackId: Int32Array;
  /** Index in ENUMS.stack_origin. */
  readonly stackOrigin: Uint8Array;
  /** The alloc event, −1 if it is before the trace or the walk has not reached it. */
  readonly allocSeq: Int32Array;
  /** Number of the block in `block_life`; absent in states that a walk made. */
  readonly block?: Int32Array;
}

export interface AllocatorState {
  /** The state after this event; null = before the first event the walk has seen. */
  readonly afterSeq: number | null;
  readonly segments: StateSegments;
  readonly blocks: StateBlocks;
}

/** Fills `segments.firstBlock` and `blocks.segment`, both sides being in ascending order of address. */
export function placeBlocks(segments: StateSegments, blocks: StateBlocks): void {
  let row = 0;
  for (let segment = 0; segment < segments.count; segment += 1) {
    const end = segments.address[segment]! + segments.totalBytes[segment]!;
    segments.firstBlock[segment] = row;
    for (; row < blocks.count && blocks.address[row]! < end; row += 1) blocks.segment[row] = segment;
  }
  segments.firstBlock[segments.count] = row;
}

export interface StateTotals {
  readonly reservedBytes: number;
  /** Actual bytes of allocated and pending blocks. */
  readonly activeBytes: number;
  readonly allocatedBytes: number;
  readonly pendingBytes: number;
  /** Requested bytes of all active blocks where known. */
  readonly requestedBytes: number;
  readonly requestedUnknownBlocks: number;
  readonly uncertainBlocks: number;
  /** Sum of (max − min) over the uncertain blocks. */
  readonly uncertainBytes: number;
}

export function stateTotals(state: AllocatorState): StateTotals {
  const { segments, blocks } = state;
  let reservedBytes = 0;
  for (let i = 0; i < segments.count; i += 1) reservedBytes += segments.totalBytes[i]!;
  let activeBytes = 0;
  let pendingBytes = 0;
  let requestedBytes = 0;
  let requestedUnknownBlocks = 0;
  let uncertainBlocks = 0;
  let uncertainBytes = 0;
  for (let i = 0; i < blocks.count; i += 1) {
    const size = blocks.sizeBytes[i]!;
    activeBytes += size;
    if (blocks.state[i] === 1) pendingBytes += size;
    const requested = blocks.requestedBytes[i]!;
    if (requested < 0) requestedUnknownBlocks += 1;
    else requestedBytes += requested;
    const width = blocks.maxBytes[i]! - blocks.minBytes[i]!;
    if (width > 0) {
      uncertainBlocks += 1;
      uncertainBytes += width;
    }
  }
  return {
    reservedBytes,
    activeBytes,
    allocatedBytes: activeBytes - pendingBytes,
    pendingBytes,
    requestedBytes,
    requestedUnknownBlocks,
    uncertainBlocks,
    uncertainBytes,
  };
}

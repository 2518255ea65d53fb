/** Blocks of a walk as rows. */
import type { StateBlocks } from '../../../src/allocator/walk/allocator-state.js';

/** Columns of blocks by slot, as a walk keeps them. */
interface BlockSlots {
  readonly address: Float64Array;
  readonly size: Float64Array;
  readonly min: Float64Array;
  readonly max: Float64Array;
  readonly requested: Float64Array;
  readonly state: Uint8Array;
  readonly stack: Int32Array;
  readonly stackOrigin: Uint8Array;
  /** Undefined: not known to this walk. */
  readonly allocSeq?: Int32Array | undefined;
}

/**
 * The blocks of `slots`, which are in ascending order of address, as rows; `segment` is left to {@link placeBlocks}.
 */
export function blocksOfSlots(slots: Int32Array, from: BlockSlots): StateBlocks {
  const count = slots.length;
  const pick = <T extends Float64Array | Int32Array | Uint8Array>(to: T, column: T): T => {
    for (let row = 0; row < count; row += 1) to[row] = column[slots[row]!]!;
    return to;
  };
  return {
    count,
    address: pick(new Float64Array(count), from.address),
    sizeBytes: pick(new Float64Array(count), from.size),
    minBytes: pick(new Float64Array(count), from.min),
    maxBytes: pick(new Float64Array(count), from.max),
    requestedBytes: pick(new Float64Array(count), from.requested),
    state: pick(new Uint8Array(count), from.state),
    segment: new Int32Array(count),
    stackId: pick(new Int32Array(count), from.stack),
    stackOrigin: pick(new Uint8Array(count), from.stackOrigin),
    allocSeq: from.allocSeq === undefined ? new Int32Array(count).fill(-1) : pick(new Int32Array(count), from.allocSeq),
  };
}

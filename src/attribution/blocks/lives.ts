/**
 * Every block that lived during a trace, as columns: those from before the recording first, then one per allocation in
 * order.
 */
import { roundTo512 } from '../../allocator/walk/history-facts.js';

export interface Lives {
  readonly count: number;
  /** Rows below this one are blocks from before the recording: those of `history.start`, in their order. */
  readonly starts: number;
  /** Entries of the trace. */
  readonly events: number;
  /** −1: before the recording. */
  readonly allocSeq: Int32Array;
  /** Entry that ends it; {@link NEVER} where the trace shows none. */
  readonly freedSeq: Int32Array;
  /** Actual bytes. */
  readonly bytes: Float64Array;
  /** Requested bytes; −1 = unknown. */
  readonly requested: Float64Array;
  /** −1 = none. A block from before the recording may have that of its free: see {@link stackIsOfFree}. */
  readonly stackId: Int32Array;
  /** 1 where the stack is the free's, as a substitute for the allocation's. */
  readonly stackIsOfFree: Uint8Array;
  /** Torch's pools as walks number them; 0 = default, −1 = unknown. */
  readonly pool: Int32Array;
}

/**
 * By which blocks for tensors of one shape are equal: the request, rounded. The block itself may be larger, by what a
 * split left on it.
 */
export function sizeOf({ requested, bytes }: Lives, row: number): number {
  return requested[row]! < 0 ? bytes[row]! : roundTo512(requested[row]!);
}

/** No entry ends the block. */
export const NEVER = 2 ** 31 - 1;

/**
 * Every block that lived during a trace, as columns: those from before the recording first, then one per allocation in
 * order.
 */

import { roundTo512 } from '../../allocator/rounding.js';
import { ENUMS } from '../../model/columns.js';
import type { PoolNumbers } from '../../model/pool-numbers.js';

export interface Lives {
  readonly count: number;
  /** Rows below this one are blocks from before the recording: those of `history.start`, in their order. */
  readonly starts: number;
  /** Entries of the trace. */
  readonly events: number;
  /** −1: before the recording. */
  readonly allocSeq: Int32Array;
  /**
   * Entry at which the program frees it, other streams may use it longer; −1 = before the first, {@link NEVER} where
   * the trace shows none.
   */
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

/** Rows of `block_life`, in any order; unknown integers are −1, unknown bytes NaN. */
export interface LifeColumns {
  readonly block: Int32Array;
  readonly from_seq: Int32Array;
  readonly to_seq: Int32Array;
  readonly actual_bytes: Float64Array;
  readonly requested_bytes: Float64Array;
  /** As the store numbers them. */
  readonly pool: Int32Array;
  readonly stack_id: Int32Array;
  readonly stack_origin: Uint8Array;
}

const FREE_EVENT = ENUMS.stack_origin.indexOf('free_event');

/** Puts the {@link Lives} of `count` blocks together from rows, each in its place at once: 33 bytes a block. */
export class LivesBuilder {
  private starts = 0;
  private readonly count: number;
  private readonly columns: Omit<Lives, 'count' | 'starts' | 'events'>;

  constructor(count: number) {
    this.count = count;
    this.columns = {
      allocSeq: new Int32Array(count),
      freedSeq: new Int32Array(count),
      bytes: new Float64Array(count),
      requested: new Float64Array(count),
      stackId: new Int32Array(count),
      stackIsOfFree: new Uint8Array(count),
      pool: new Int32Array(count),
    };
  }

  add(rows: number, from: LifeColumns): void {
    const { allocSeq, freedSeq, bytes, requested, stackId, stackIsOfFree, pool } = this.columns;
    for (let i = 0; i < rows; i += 1) {
      const block = from.block[i]!;
      const made = from.from_seq[i]!;
      allocSeq[block] = made;
      freedSeq[block] = from.to_seq[i]!;
      bytes[block] = knownBytes(from.actual_bytes[i]!);
      requested[block] = knownBytes(from.requested_bytes[i]!);
      stackId[block] = Math.max(-1, from.stack_id[i]!);
      pool[block] = from.pool[i]!;
      if (made >= 0) continue;
      this.starts += 1;
      stackIsOfFree[block] = from.stack_origin[i] === FREE_EVENT ? 1 : 0;
    }
  }

  /** Call once, after all rows of a trace of `events` entries. */
  lives(events: number, pools: PoolNumbers): Lives {
    const { columns, count, starts } = this;
    const { pool } = columns;
    let stored = Number.NaN;
    let number = 0;
    for (let row = 0; row < count; row += 1) {
      if (pool[row] !== stored) {
        stored = pool[row]!;
        number = Math.max(0, pools.toWalk(stored));
      }
      pool[row] = number;
    }
    return { ...columns, count, starts, events };
  }
}

const knownBytes = (bytes: number): number => (bytes >= 0 ? bytes : -1);

/**
 * By which blocks for tensors of one shape are equal: the request, rounded. The block itself may be larger, by what a
 * split left on it.
 */
export function sizeOf({ requested, bytes }: Lives, row: number): number {
  return requested[row]! < 0 ? bytes[row]! : roundTo512(requested[row]!);
}

/** Ids of stacks are below this. */
export function stackCount({ stackId }: Pick<Lives, 'stackId'>): number {
  let most = -1;
  for (let row = 0; row < stackId.length; row += 1) if (stackId[row]! > most) most = stackId[row]!;
  return most + 1;
}

/** No entry ends the block. */
export const NEVER = 2 ** 31 - 1;

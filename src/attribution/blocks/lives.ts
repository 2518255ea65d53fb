/**
 * Every block that lived during a trace, as columns: those from before the recording first, then one per allocation in
 * order.
 */
import { STACK_ORIGINS } from '../../allocator/walk/allocator-state.js';
import { growColumn } from '../../allocator/walk/grow-column.js';
import { roundTo512 } from '../../allocator/walk/history-facts.js';
import type { PoolNumbers } from '../../model/pool-numbers.js';

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

/** Rows of `block_life`, in any order; what is not known is −1, or NaN. */
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

const FREE_EVENT = STACK_ORIGINS.indexOf('free_event');

/** Puts {@link Lives} together from rows. Memory is 33 bytes a block. */
export class LivesBuilder {
  /** Rows so far. */
  count = 0;
  private starts = 0;
  private allocSeq: Int32Array<ArrayBuffer>;
  private freedSeq: Int32Array<ArrayBuffer>;
  private bytes: Float64Array<ArrayBuffer>;
  private requested: Float64Array<ArrayBuffer>;
  private stackId: Int32Array<ArrayBuffer>;
  private stackIsOfFree: Uint8Array<ArrayBuffer>;
  private pool: Int32Array<ArrayBuffer>;

  /** `expected` blocks; there may be more. */
  constructor(expected: number) {
    const capacity = Math.max(1, expected);
    this.allocSeq = new Int32Array(capacity);
    this.freedSeq = new Int32Array(capacity);
    this.bytes = new Float64Array(capacity);
    this.requested = new Float64Array(capacity);
    this.stackId = new Int32Array(capacity);
    this.stackIsOfFree = new Uint8Array(capacity);
    this.pool = new Int32Array(capacity);
  }

  add(rows: number, columns: LifeColumns): void {
    for (let i = 0; i < rows; i += 1) {
      const row = columns.block[i]!;
      while (row >= this.allocSeq.length) this.grow();
      const from = columns.from_seq[i]!;
      this.allocSeq[row] = from;
      this.freedSeq[row] = columns.to_seq[i]!;
      this.bytes[row] = columns.actual_bytes[i]!;
      this.requested[row] = columns.requested_bytes[i]! >= 0 ? columns.requested_bytes[i]! : -1;
      this.stackId[row] = columns.stack_id[i]! < 0 ? -1 : columns.stack_id[i]!;
      this.pool[row] = columns.pool[i]!;
      if (from < 0) {
        this.starts += 1;
        this.stackIsOfFree[row] = columns.stack_origin[i] === FREE_EVENT ? 1 : 0;
      }
    }
    this.count += rows;
  }

  /** Call once, after all rows of a trace of `events` entries. */
  lives(events: number, pools: PoolNumbers): Lives {
    const { count, starts, pool } = this;
    for (let row = 0; row < count; row += 1) pool[row] = Math.max(0, pools.toWalk(pool[row]!));
    return {
      count,
      starts,
      events,
      allocSeq: this.allocSeq.subarray(0, count),
      freedSeq: this.freedSeq.subarray(0, count),
      bytes: this.bytes.subarray(0, count),
      requested: this.requested.subarray(0, count),
      stackId: this.stackId.subarray(0, count),
      stackIsOfFree: this.stackIsOfFree.subarray(0, count),
      pool: pool.subarray(0, count),
    };
  }

  private grow(): void {
    this.allocSeq = growColumn(this.allocSeq);
    this.freedSeq = growColumn(this.freedSeq);
    this.bytes = growColumn(this.bytes);
    this.requested = growColumn(this.requested);
    this.stackId = growColumn(this.stackId);
    this.stackIsOfFree = growColumn(this.stackIsOfFree);
    this.pool = growColumn(this.pool);
  }
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

/**
 * Every block that lived during a trace, as columns: those from before the recording first, then one per allocation in
 * order.
 */

import { roundTo512 } from '../../allocator/rounding.js';
import { STACK_ORIGINS } from '../../allocator/walk/allocator-state.js';
import { getI64, NULL_HIGH } from '../../model/columns.js';
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

/** Bytes as doubles, NaN where not known, or as a 64-bit column of a `ColumnBatch`. */
type ByteColumn = Float64Array | Uint32Array;

/** Rows of `block_life`, in any order; what is not known is −1. */
export interface LifeColumns {
  readonly block: Int32Array;
  readonly from_seq: Int32Array;
  readonly to_seq: Int32Array;
  readonly actual_bytes: ByteColumn;
  readonly requested_bytes: ByteColumn;
  /** As the store numbers them. */
  readonly pool: Int32Array;
  readonly stack_id: Int32Array;
  readonly stack_origin: Uint8Array;
}

const FREE_EVENT = STACK_ORIGINS.indexOf('free_event');

const lifeColumns = (capacity: number) => ({
  allocSeq: new Int32Array(capacity),
  freedSeq: new Int32Array(capacity),
  bytes: new Float64Array(capacity),
  requested: new Float64Array(capacity),
  stackId: new Int32Array(capacity),
  stackIsOfFree: new Uint8Array(capacity),
  pool: new Int32Array(capacity),
});

/** Puts {@link Lives} together from rows, each in its place at once. Memory is 33 bytes a block. */
export class LivesBuilder {
  /** Rows so far. */
  count = 0;
  private starts = 0;
  /** Place 0 is of this block. Not 0 only where a trace contradicts itself, and no one knew how many there would be. */
  private base = 0;
  private least = Number.POSITIVE_INFINITY;
  private columns: ReturnType<typeof lifeColumns>;

  /** `expected` blocks; there may be more. */
  constructor(expected: number) {
    this.columns = lifeColumns(Math.max(1, expected));
  }

  add(rows: number, from: LifeColumns): void {
    this.reserve(from.block, rows);
    const { base } = this;
    const { allocSeq, freedSeq, bytes, requested, stackId, stackIsOfFree, pool } = this.columns;
    for (let i = 0; i < rows; i += 1) {
      const place = from.block[i]! - base;
      const made = from.from_seq[i]!;
      allocSeq[place] = made;
      freedSeq[place] = from.to_seq[i]!;
      stackId[place] = Math.max(-1, from.stack_id[i]!);
      pool[place] = from.pool[i]!;
      if (made >= 0) continue;
      this.starts += 1;
      stackIsOfFree[place] = from.stack_origin[i] === FREE_EVENT ? 1 : 0;
    }
    putBytes(bytes, from.actual_bytes, from.block, base, rows);
    putBytes(requested, from.requested_bytes, from.block, base, rows);
    this.count += rows;
  }

  /** Call once, after all rows of a trace of `events` entries. */
  lives(events: number, pools: PoolNumbers): Lives {
    const { columns, count, starts } = this;
    const first = count === 0 ? 0 : this.least - this.base;
    const used = <T extends Int32Array | Float64Array | Uint8Array>(column: T): T =>
      column.subarray(first, first + count) as T;
    const pool = used(columns.pool);
    let stored = Number.NaN;
    let number = 0;
    for (let row = 0; row < count; row += 1) {
      if (pool[row] !== stored) {
        stored = pool[row]!;
        number = Math.max(0, pools.toWalk(stored));
      }
      pool[row] = number;
    }
    return {
      ...{ count, starts, events, pool },
      allocSeq: used(columns.allocSeq),
      freedSeq: used(columns.freedSeq),
      bytes: used(columns.bytes),
      requested: used(columns.requested),
      stackId: used(columns.stackId),
      stackIsOfFree: used(columns.stackIsOfFree),
    };
  }

  private reserve(block: Int32Array, rows: number): void {
    let least = this.least;
    let most = 0;
    for (let i = 0; i < rows; i += 1) {
      least = Math.min(least, block[i]!);
      most = Math.max(most, block[i]!);
    }
    this.least = least;
    const { base, columns } = this;
    const capacity = columns.pool.length;
    const end = base + capacity;
    if (least >= base && most < end) return;
    // Twice as much at the least, on the side that lacks it.
    this.base = least < base ? Math.min(least, base - capacity) : base;
    this.columns = lifeColumns((most < end ? end : Math.max(most + 1, end + capacity)) - this.base);
    for (const [name, column] of Object.entries(columns))
      this.columns[name as keyof typeof columns].set(column, base - this.base);
  }
}

/** Each at the place of its block; −1 = unknown. */
function putBytes(to: Float64Array, from: ByteColumn, block: Int32Array, base: number, rows: number): void {
  if (from instanceof Uint32Array)
    for (let i = 0; i < rows; i += 1) to[block[i]! - base] = from[i * 2 + 1] === NULL_HIGH ? -1 : getI64(from, i);
  else for (let i = 0; i < rows; i += 1) to[block[i]! - base] = from[i]! >= 0 ? from[i]! : -1;
}

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

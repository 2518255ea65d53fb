/**
 * Every block that lived during a trace, as columns: those from before the recording first, by address, then one per
 * allocation in order. They are found from the last to the first, so the columns are filled from their ends.
 */
import { MAX_SAFE } from './memory';
import { Block, FROM_ALLOC_EVENT, FROM_FREE_EVENT } from './walk';

/** `to_seq`, and entries of other events, that are not in the trace. */
export const NEVER: i32 = i32.MAX_VALUE;

export class Lives {
  count: i32 = 0;
  /** Lives below this one are blocks from before the trace. */
  starts: i32 = 0;
  /** −1: before the trace. */
  fromSeq: StaticArray<i32>;
  toSeq: StaticArray<i32>;
  pendingSeq: StaticArray<i32>;
  /** Actual bytes. f64, as JavaScript takes them: whole numbers below 2^53. */
  bytes: StaticArray<f64>;
  /** −1 = not known. */
  requested: StaticArray<f64>;
  /** −1 = none. */
  stack: StaticArray<i32>;
  /** Index in ENUMS.stack_origin. */
  origin: StaticArray<u8>;
  /** As walks number pools. */
  pool: StaticArray<i32>;
  /** How much larger the block may be; empty while no block may. */
  private uncertain: StaticArray<f64> = new StaticArray<f64>(0);
  /** Of the blocks from before the trace, the last one first. */
  startAddress: Array<i64> = [];
  startStream: Array<i64> = [];
  private startLeast: Array<i64> = [];
  private startMost: Array<i64> = [];
  /** Place of the life that was found last. */
  private first: i32;

  /** Space for `expected` lives; there are more only where the trace contradicts itself. */
  constructor(
    expected: i32,
    /** Frees carry the stacks of their allocations. */
    readonly freesCarryStacks: bool,
  ) {
    this.fromSeq = new StaticArray<i32>(expected);
    this.toSeq = new StaticArray<i32>(expected);
    this.pendingSeq = new StaticArray<i32>(expected);
    this.bytes = new StaticArray<f64>(expected);
    this.requested = new StaticArray<f64>(expected);
    this.stack = new StaticArray<i32>(expected);
    this.origin = new StaticArray<u8>(expected);
    this.pool = new StaticArray<i32>(expected);
    this.first = expected;
  }

  /** The life before those found so far. */
  add(block: Block, fromSeq: i32, pool: i32, uncertain: i64): void {
    if (this.first === 0) this.extend();
    const life = --this.first;
    this.count++;
    this.fromSeq[life] = fromSeq;
    this.toSeq[life] = block.toSeq;
    this.pendingSeq[life] = block.pendingSeq;
    this.bytes[life] = f64(block.size);
    this.requested[life] = f64(block.requested);
    this.stack[life] = block.stack;
    this.origin[life] = block.stackOrigin;
    this.pool[life] = pool;
    if (fromSeq < 0 || uncertain === 0) return;
    if (this.uncertain.length === 0) this.uncertain = new StaticArray<f64>(this.bytes.length);
    this.uncertain[life] = f64(uncertain);
  }

  /** What is known in addition of the life that was added last, of a block from before the trace. */
  before(block: Block, stream: i64): void {
    const isSubstitute = block.stackOrigin === FROM_FREE_EVENT && this.freesCarryStacks;
    if (isSubstitute) this.origin[this.first] = FROM_ALLOC_EVENT;
    this.starts++;
    this.startAddress.push(block.address);
    this.startStream.push(stream);
    this.startLeast.push(block.least);
    this.startMost.push(min(block.most, MAX_SAFE));
  }

  /** Call after the last life: then lives are numbered from 0. */
  finish(): void {
    const from = this.first;
    if (from === 0) return;
    this.fromSeq = this.fromSeq.slice<StaticArray<i32>>(from);
    this.toSeq = this.toSeq.slice<StaticArray<i32>>(from);
    this.pendingSeq = this.pendingSeq.slice<StaticArray<i32>>(from);
    this.bytes = this.bytes.slice<StaticArray<f64>>(from);
    this.requested = this.requested.slice<StaticArray<f64>>(from);
    this.stack = this.stack.slice<StaticArray<i32>>(from);
    this.origin = this.origin.slice<StaticArray<u8>>(from);
    this.pool = this.pool.slice<StaticArray<i32>>(from);
    if (this.uncertain.length > 0) this.uncertain = this.uncertain.slice<StaticArray<f64>>(from);
    this.first = 0;
  }

  leastOf(life: i32, bytes: i64): i64 {
    return life < this.starts ? this.startLeast[this.starts - 1 - life] : bytes;
  }

  mostOf(life: i32, bytes: i64): i64 {
    if (life < this.starts) return this.startMost[this.starts - 1 - life];
    return this.uncertain.length === 0 ? bytes : bytes + i64(this.uncertain[life]);
  }

  /** Makes space before the first life. */
  private extend(): void {
    const more = max(16, this.fromSeq.length);
    this.fromSeq = shifted<i32>(this.fromSeq, more);
    this.toSeq = shifted<i32>(this.toSeq, more);
    this.pendingSeq = shifted<i32>(this.pendingSeq, more);
    this.bytes = shifted<f64>(this.bytes, more);
    this.requested = shifted<f64>(this.requested, more);
    this.stack = shifted<i32>(this.stack, more);
    this.origin = shifted<u8>(this.origin, more);
    this.pool = shifted<i32>(this.pool, more);
    if (this.uncertain.length > 0) this.uncertain = shifted<f64>(this.uncertain, more);
    this.first = more;
  }
}

/** A copy with `by` more places at the beginning. */
function shifted<T>(array: StaticArray<T>, by: i32): StaticArray<T> {
  const larger = new StaticArray<T>(array.length + by);
  for (let i = 0; i < array.length; i++) larger[i + by] = array[i];
  return larger;
}

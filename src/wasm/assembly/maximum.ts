/**
 * The exact maximum of a running total, in one pass backwards in time, although some of its terms become known only
 * later in that pass.
 *
 * A block that the walk meets at its free has a provisional size; the true size r bytes off may turn up only when the
 * walk has gone on towards its alloc. Every total recorded in between lacks r. These are exactly the totals recorded
 * *since the block was entered*: a suffix of what was recorded so far. So the record is cut into periods at the entries
 * of the blocks that are still open. Within a period all totals get the same revisions from now on, hence only its
 * largest can become the maximum and one number per period is enough. Revising a block shifts its period and all later
 * ones (kept as a difference to the period before, so O(1)); closing a block joins its period with the one before.
 * Memory: one entry per open block.
 */
import { grown } from './memory';

export class RevisableMaximum {
  /** Of {@link result}: the maximum with what is known now, and the earliest `seq` after which it held. */
  total: i64 = i64.MIN_VALUE;
  seq: i32 = -1;
  /** Largest total of the period, in the period's own terms: without the shifts of it and of the periods before. */
  private most: StaticArray<i64> = new StaticArray<i64>(64);
  /** −1 = nothing recorded. */
  private at: StaticArray<i32> = new StaticArray<i32>(64);
  private shift: StaticArray<i64> = new StaticArray<i64>(64);
  private next: StaticArray<i32> = new StaticArray<i32>(64);
  private previous: StaticArray<i32> = new StaticArray<i32>(64);
  private tail: i32 = 0;
  private used: i32 = 1;
  private unused: i32 = -1;
  /** Sum of all shifts: what the last period's terms are below the truth. */
  private basis: i64 = 0;

  constructor() {
    this.begin(0, -1);
  }

  /** Records that the total was `total` after event `seq`. Later calls are earlier in time and win ties. */
  record(total: i64, seq: i32): void {
    const relative = total - this.basis;
    const tail = this.tail;
    if (relative >= this.most[tail]) {
      this.most[tail] = relative;
      this.at[tail] = seq;
    }
  }

  /** Begins a period: from here on the totals contain a term that may be revised. Returns the id of the term. */
  open(): i32 {
    let id = this.unused;
    if (id >= 0) this.unused = this.next[id];
    else {
      id = this.used++;
      if (id === this.most.length) this.grow();
    }
    this.begin(id, this.tail);
    this.next[this.tail] = id;
    this.tail = id;
    return id;
  }

  /** The term is larger by `delta` bytes (may be negative) than it was taken for since it was opened. */
  revise(id: i32, delta: i64): void {
    this.shift[id] += delta;
    this.basis += delta;
  }

  /** The term is final. Its id may be used again. */
  close(id: i32): void {
    const before = this.previous[id];
    const behind = this.next[id];
    const shift = this.shift[id];
    if (this.at[id] !== -1 && this.most[id] + shift >= this.most[before]) {
      this.most[before] = this.most[id] + shift;
      this.at[before] = this.at[id];
    }
    this.next[before] = behind;
    if (behind >= 0) {
      this.previous[behind] = before;
      this.shift[behind] += shift;
    } else {
      this.tail = before;
      this.basis -= shift;
    }
    this.next[id] = this.unused;
    this.unused = id;
  }

  /** Fills {@link total} and {@link seq}. */
  result(): void {
    let basis: i64 = 0;
    this.total = i64.MIN_VALUE;
    this.seq = -1;
    for (let id = 0; id >= 0; id = this.next[id]) {
      basis += this.shift[id];
      if (this.at[id] === -1 || this.most[id] + basis < this.total) continue;
      this.total = this.most[id] + basis;
      this.seq = this.at[id];
    }
  }

  private begin(id: i32, previous: i32): void {
    this.most[id] = i64.MIN_VALUE;
    this.at[id] = -1;
    this.shift[id] = 0;
    this.next[id] = -1;
    this.previous[id] = previous;
  }

  private grow(): void {
    this.most = grown<i64>(this.most);
    this.at = grown<i32>(this.at);
    this.shift = grown<i64>(this.shift);
    this.next = grown<i32>(this.next);
    this.previous = grown<i32>(this.previous);
  }
}

import { growColumn } from '../../../src/allocator/walk/grow-column.js';

/**
 * The exact maximum of a running total, in one pass backwards in time, although some of its terms become known only
 * later in that pass.
 *
 * A block that the backward walk meets at its free has a provisional size; the true size r bytes off may turn up only
 * when the walk has gone on towards its alloc. Every total recorded in between lacks r. These are exactly the totals
 * recorded *since the block was entered*: a suffix of what was recorded so far. So the record is cut into periods at
 * the entries of the blocks that are still open. Within a period all totals get the same revisions from now on, hence
 * only its largest can become the maximum and one number per period is enough. Revising a block shifts its period and
 * all later ones (kept as a difference to the period before, so O(1)); closing a block joins its period with the one
 * before. Memory: one entry per open block.
 */
export class RevisableMaximum {
  /** Largest total of the period, in the period's own terms: without the shifts of it and of the periods before. */
  private max = new Float64Array(64);
  private seq = new Int32Array(64);
  private shift = new Float64Array(64);
  private next = new Int32Array(64);
  private previous = new Int32Array(64);
  private tail = 0;
  private used = 1;
  private unusedHead = -1;
  /** Sum of all shifts: what the last period's terms are below the truth. */
  private basis = 0;

  constructor() {
    this.max[0] = Number.NEGATIVE_INFINITY;
    this.seq[0] = -1;
    this.next[0] = -1;
    this.previous[0] = -1;
  }

  /** Records that the total was `total` after event `seq`. Later calls are earlier in time and win ties. */
  record(total: number, seq: number): void {
    const relative = total - this.basis;
    const tail = this.tail;
    if (relative >= this.max[tail]!) {
      this.max[tail] = relative;
      this.seq[tail] = seq;
    }
  }

  /** Begins a period: from here on the totals contain a term that may be revised. Returns the id of the term. */
  open(): number {
    let id = this.unusedHead;
    if (id >= 0) this.unusedHead = this.next[id]!;
    else {
      id = this.used;
      this.used += 1;
      if (id >= this.max.length) this.grow();
    }
    this.max[id] = Number.NEGATIVE_INFINITY;
    this.seq[id] = -1;
    this.shift[id] = 0;
    this.next[id] = -1;
    this.previous[id] = this.tail;
    this.next[this.tail] = id;
    this.tail = id;
    return id;
  }

  /** The term is larger by `delta` bytes (may be negative) than it was taken for since it was opened. */
  revise(id: number, delta: number): void {
    this.shift[id] = this.shift[id]! + delta;
    this.basis += delta;
  }

  /** The term is final. Its id may be used again. */
  close(id: number): void {
    const before = this.previous[id]!;
    const behind = this.next[id]!;
    const shift = this.shift[id]!;
    const value = this.max[id]! + shift;
    if (value >= this.max[before]! && this.seq[id] !== -1) {
      this.max[before] = value;
      this.seq[before] = this.seq[id]!;
    }
    this.next[before] = behind;
    if (behind >= 0) {
      this.previous[behind] = before;
      this.shift[behind] = this.shift[behind]! + shift;
    } else {
      this.tail = before;
      this.basis -= shift;
    }
    this.next[id] = this.unusedHead;
    this.unusedHead = id;
  }

  /**
   * The maximum with what is known now, and the earliest `seq` after which it held; −Infinity and −1 before any record.
   */
  result(): { readonly total: number; readonly seq: number } {
    let total = Number.NEGATIVE_INFINITY;
    let seq = -1;
    let basis = 0;
    for (let id = 0; id >= 0; id = this.next[id]!) {
      basis += this.shift[id]!;
      const value = this.max[id]! + basis;
      if (this.seq[id] !== -1 && value >= total) {
        total = value;
        seq = this.seq[id]!;
      }
    }
    return { total, seq };
  }

  private grow(): void {
    this.max = growColumn(this.max);
    this.seq = growColumn(this.seq);
    this.shift = growColumn(this.shift);
    this.next = growColumn(this.next);
    this.previous = growColumn(this.previous);
  }
}

/** Totals over a trace in runs of 2^k entries, smallest and largest kept: what every timeline is drawn from. */
import type { TotalsObserver } from '../../allocator/walk/forward-walk.js';
import { MAX_BUCKETS } from '../../model/derived-tables.js';

export interface BucketRange {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** A row ends with each of these entries too, so that changes between two of them stay separate. Ascending. */
  readonly cuts?: readonly number[] | undefined;
}

/**
 * Entries a bucket for a trace of `events`: the least power of two that gives at most {@link MAX_BUCKETS} of them, not
 * counting those that cuts add.
 */
export function entriesPerBucket(events: number): number {
  let entries = 1;
  while (Math.ceil(events / entries) > MAX_BUCKETS) entries *= 2;
  return entries;
}

export interface Totals {
  readonly allocatedBytes: number;
  readonly activeBytes: number;
  readonly reservedBytes: number;
}

/** The columns of the rows, `count` of each used. */
export interface BucketColumns {
  readonly count: number;
  readonly firstSeq: Int32Array;
  readonly lastSeq: Int32Array;
  readonly allocatedMin: Float64Array;
  readonly allocatedMax: Float64Array;
  readonly activeMin: Float64Array;
  readonly activeMax: Float64Array;
  readonly reservedMin: Float64Array;
  readonly reservedMax: Float64Array;
}

/**
 * Fills the rows of a range while a walk goes forward over the trace from its first entry; `start` are the totals
 * before that.
 */
export class BucketFiller implements TotalsObserver {
  readonly entries: number;
  private readonly range: BucketRange;
  private readonly cuts: readonly number[];
  private nextCut = 0;
  private before: Totals;
  private row = -1;
  /** The last entry of the row being filled. */
  private rowEnd = -1;
  private readonly firstSeq: Int32Array;
  private readonly lastSeq: Int32Array;
  private readonly allocatedMin: Float64Array;
  private readonly allocatedMax: Float64Array;
  private readonly activeMin: Float64Array;
  private readonly activeMax: Float64Array;
  private readonly reservedMin: Float64Array;
  private readonly reservedMax: Float64Array;

  constructor(range: BucketRange, start: Totals) {
    this.range = range;
    this.before = start;
    const length = Math.max(0, range.lastSeq - range.firstSeq + 1);
    this.entries = entriesPerBucket(length);
    this.cuts = range.cuts ?? [];
    // Rows end at multiples of their length, so a range that begins in between needs one more.
    const rows = Math.ceil(length / this.entries) + 1 + this.cuts.length;
    const column = (): Float64Array => new Float64Array(rows);
    this.firstSeq = new Int32Array(rows);
    this.lastSeq = new Int32Array(rows);
    [this.allocatedMin, this.allocatedMax, this.activeMin] = [column(), column(), column()];
    [this.activeMax, this.reservedMin, this.reservedMax] = [column(), column(), column()];
  }

  after(seq: number, allocatedBytes: number, activeBytes: number, reservedBytes: number): void {
    const { firstSeq, lastSeq } = this.range;
    if (seq < firstSeq || seq > lastSeq) {
      if (seq < firstSeq) this.before = { allocatedBytes, activeBytes, reservedBytes };
      return;
    }
    if (seq > this.rowEnd) {
      const isFirst = this.row < 0;
      this.begin(seq);
      if (isFirst) {
        const { before } = this;
        this.set(before.allocatedBytes, before.activeBytes, before.reservedBytes);
      } else {
        this.set(allocatedBytes, activeBytes, reservedBytes);
        this.lastSeq[this.row] = seq;
        return;
      }
    }
    const { row } = this;
    this.lastSeq[row] = seq;
    if (allocatedBytes < this.allocatedMin[row]!) this.allocatedMin[row] = allocatedBytes;
    if (allocatedBytes > this.allocatedMax[row]!) this.allocatedMax[row] = allocatedBytes;
    if (activeBytes < this.activeMin[row]!) this.activeMin[row] = activeBytes;
    if (activeBytes > this.activeMax[row]!) this.activeMax[row] = activeBytes;
    if (reservedBytes < this.reservedMin[row]!) this.reservedMin[row] = reservedBytes;
    if (reservedBytes > this.reservedMax[row]!) this.reservedMax[row] = reservedBytes;
  }

  private begin(seq: number): void {
    this.row += 1;
    this.firstSeq[this.row] = seq;
    this.rowEnd = Math.ceil((seq + 1) / this.entries) * this.entries - 1;
    while (this.nextCut < this.cuts.length && this.cuts[this.nextCut]! < seq) this.nextCut += 1;
    const cut = this.cuts[this.nextCut];
    if (cut !== undefined && cut < this.rowEnd) this.rowEnd = cut;
  }

  private set(allocatedBytes: number, activeBytes: number, reservedBytes: number): void {
    const { row } = this;
    this.allocatedMin[row] = allocatedBytes;
    this.allocatedMax[row] = allocatedBytes;
    this.activeMin[row] = activeBytes;
    this.activeMax[row] = activeBytes;
    this.reservedMin[row] = reservedBytes;
    this.reservedMax[row] = reservedBytes;
  }

  columns(): BucketColumns {
    const { firstSeq, lastSeq, allocatedMin, allocatedMax, activeMin, activeMax, reservedMin, reservedMax } = this;
    const count = this.row + 1;
    return { count, firstSeq, lastSeq, allocatedMin, allocatedMax, activeMin, activeMax, reservedMin, reservedMax };
  }
}

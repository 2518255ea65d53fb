/** What only the walk back can know of the entries of a trace, so that a walk forward repeats it exactly. */

import { growColumn } from '../../../src/allocator/walk/grow-column.js';

/** Means "without a stack of its own" in {@link AllocFacts}. */
const NO_STACK = -1;

/** Allocations with facts beyond their entry, in descending order of seq. */
export interface AllocFacts {
  readonly count: number;
  readonly seq: Int32Array;
  /**
   * Actual bytes beyond the request rounded up to 512: what a split left on the block, and rounding by power-of-two
   * divisions.
   */
  readonly excessBytes: Float64Array;
  /** By how much the size may be larger than that: cudaMalloc segments under expandable_segments:True only. */
  readonly uncertainBytes: Float64Array;
  /** The caller's number of the pool id; 0 = default pool. */
  readonly pool: Int32Array;
  /** The stack of the block where the entry has none (recorded with context="state"), else −1. */
  readonly stackId: Int32Array;
  /** Index in ENUMS.stack_origin of that stack. */
  readonly stackOrigin: Uint8Array;
}

/** Whose memory a segment_alloc or segment_map brought, in descending order of seq. */
export interface GrowthFacts {
  readonly count: number;
  readonly seq: Int32Array;
  readonly small: Uint8Array;
  readonly pool: Int32Array;
  /** 1 where small or pool were inferred. */
  readonly inferred: Uint8Array;
}

export interface HistoryFacts {
  readonly allocs: AllocFacts;
  readonly growths: GrowthFacts;
}

/** Collects them while the walk goes back. */
export class HistoryFactLog {
  private allocs = 0;
  private allocSeq = new Int32Array(1024);
  private allocExcess = new Float64Array(1024);
  private allocUncertain = new Float64Array(1024);
  private allocPool = new Int32Array(1024);
  private allocStack = new Int32Array(1024);
  private allocOrigin = new Uint8Array(1024);
  private growths = 0;
  private growthSeq = new Int32Array(256);
  private growthSmall = new Uint8Array(256);
  private growthPool = new Int32Array(256);
  private growthInferred = new Uint8Array(256);

  /** Keeps nothing where the entry is complete: most allocations. */
  alloc(
    seq: number,
    excessBytes: number,
    uncertainBytes: number,
    pool: number,
    stackId: number,
    stackOrigin: number,
  ): void {
    if (excessBytes === 0 && uncertainBytes === 0 && pool === 0 && stackId === NO_STACK) return;
    const row = this.allocs++;
    if (row === this.allocSeq.length) {
      this.allocSeq = growColumn(this.allocSeq);
      this.allocExcess = growColumn(this.allocExcess);
      this.allocUncertain = growColumn(this.allocUncertain);
      this.allocPool = growColumn(this.allocPool);
      this.allocStack = growColumn(this.allocStack);
      this.allocOrigin = growColumn(this.allocOrigin);
    }
    this.allocSeq[row] = seq;
    this.allocExcess[row] = excessBytes;
    this.allocUncertain[row] = uncertainBytes;
    this.allocPool[row] = pool;
    this.allocStack[row] = stackId;
    this.allocOrigin[row] = stackOrigin;
  }

  growth(seq: number, small: number, pool: number, inferred: number): void {
    const row = this.growths++;
    if (row === this.growthSeq.length) {
      this.growthSeq = growColumn(this.growthSeq);
      this.growthSmall = growColumn(this.growthSmall);
      this.growthPool = growColumn(this.growthPool);
      this.growthInferred = growColumn(this.growthInferred);
    }
    this.growthSeq[row] = seq;
    this.growthSmall[row] = small;
    this.growthPool[row] = pool;
    this.growthInferred[row] = inferred;
  }

  /** Valid until the next entry is added. */
  facts(): HistoryFacts {
    return {
      allocs: {
        count: this.allocs,
        seq: this.allocSeq,
        excessBytes: this.allocExcess,
        uncertainBytes: this.allocUncertain,
        pool: this.allocPool,
        stackId: this.allocStack,
        stackOrigin: this.allocOrigin,
      },
      growths: {
        count: this.growths,
        seq: this.growthSeq,
        small: this.growthSmall,
        pool: this.growthPool,
        inferred: this.growthInferred,
      },
    };
  }
}

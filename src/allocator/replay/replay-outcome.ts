/** What a verifying replay found. */
import type { CachingAllocator } from '../caching/caching-allocator.js';
import type { AllocatorVariant } from '../variants.js';
import type { MismatchKind } from './recorded-driver.js';

export interface ReplayMismatch {
  readonly seq: number;
  readonly kind: MismatchKind;
  /** On requests; else null. */
  readonly requestedBytes: number | null;
  /** Where the model puts it, and the free block it takes it from; null where it does not. */
  readonly predictedAddress: number | null;
  readonly recordedAddress: number | null;
}

/** A flush as the replay understood it. */
export interface ReplayedFlush {
  /** Its first driver entry, or the request it was made for where it gave nothing back. */
  readonly seq: number;
  /**
   * `explicit`: the program emptied the cache; `forced`: a request could not be served; `unclear`: it may be either.
   */
  readonly kind: 'explicit' | 'forced' | 'unclear';
  /** The request it was made for, or the entry behind it. */
  readonly beforeSeq: number;
  readonly released: number;
}

/** A private pool that a flush could free: nothing held it any more. */
export interface ReleasedPool {
  readonly seq: number;
  /** As the columns number it. */
  readonly pool: number;
}

export interface ReplayedOom {
  readonly seq: number;
  readonly requestedBytes: number;
  /** The model fails there too. */
  readonly repeated: boolean;
  readonly reservedBytes: number;
  readonly activeBytes: number;
}

/** Decisions of torch that were taken from the record, because nothing in the file decides them. */
export interface TakenFromRecord {
  /** Flushes that freed several private pools: torch walks them in the order of a hash map. */
  poolOrders: number;
  /** Segments that garbage collection freed below a limit that is not in the file. */
  garbageSegments: number;
  /** Private pools that no entry names: which segments were theirs is taken from the flushes that freed them. */
  inferredPools: number;
}

export interface ReplayOutcome {
  readonly variant: AllocatorVariant;
  /** Requests in the trace that were served. */
  readonly allocs: number;
  readonly addressMatches: number;
  /**
   * Of these, served by a free block rather than by the driver, whose addresses are the record's: what the model really
   * predicts.
   */
  readonly reuses: number;
  readonly driverEntries: number;
  readonly driverEntryMatches: number;
  /** Driver entries of one side only, or in another order. */
  readonly driverEntryMismatches: number;
  readonly mismatches: readonly ReplayMismatch[];
  readonly mismatchCount: number;
  /** Repairs that the model cannot explain: placements inside a free block, or where nothing is free. */
  readonly impossiblePlacements: number;
  /** Frees of memory that nothing accounts for. */
  readonly unknownFrees: number;
  readonly flushes: readonly ReplayedFlush[];
  readonly releasedPools: readonly ReleasedPool[];
  readonly ooms: readonly ReplayedOom[];
  /** Entries of requests that only what their own forced wait set free would have fitted (pytorch issue 189504). */
  readonly lateWaits: readonly number[];
  readonly taken: Readonly<TakenFromRecord>;
  /**
   * Address space of a reservation that the first mismatch at its growing edge leaves possible; null if none is of that
   * kind.
   */
  readonly impliedReservationBytes: number | null;
  /**
   * Pairs of segments from before the recording, by address: the first must be the older one, since the record prefers
   * it to the other although the model does not.
   */
  readonly olderSegments: readonly (readonly [older: number, newer: number])[];
  /** Given up after too many mismatches: the rest was not replayed. */
  readonly abandonedAt: number | null;
  readonly reservedAtEndBytes: number;
  /** After the last entry. */
  readonly allocator: CachingAllocator<never>;
}

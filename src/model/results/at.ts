/** What `at` and `segments` return: the allocator of one device at one moment. */
import type { NvtxAt } from './nsys.js';
import type { PeakGroup } from './peak.js';
import type { RowOf } from './row-of.js';

/** Reserve of one class of memory that never mixes with the others. */
export type ReserveShare = Pick<
  RowOf<'state.shares'>,
  'segments' | 'reserved_bytes' | 'active_bytes' | 'pending_bytes' | 'inactive_bytes' | 'largest_hole_bytes'
>;

/** Where memory of one class is. */
interface MemoryPlace {
  /** (0, 0) is the default pool, (n, 0) a CUDA graph's, (0, n) a MemPool's; null where unknown. */
  readonly pool: readonly [number, number] | null;
  readonly segment_type: 'small' | 'large';
  /** 0 = the default stream, the others 1, 2, … by first appearance in the file; null = unknown. */
  readonly stream: number | null;
}

export interface PoolAt extends ReserveShare, Omit<MemoryPlace, 'stream'> {
  readonly expandable: boolean;
}

export interface StreamAt extends ReserveShare, Pick<MemoryPlace, 'stream'> {
  /** The pointer, exact. */
  readonly pointer: string | null;
}

export interface HoleAt extends MemoryPlace {
  /** Start of the free block. */
  readonly address: string;
  readonly bytes: number;
  readonly segment: string;
}

/** A segment that holds free memory which cannot go back to the driver, and what keeps it. */
export interface PinnedSegment
  extends Pick<
      RowOf<'state.pinned_segments'>,
      'total_bytes' | 'inactive_bytes' | 'largest_hole_bytes' | 'active_bytes'
    >,
    Pick<RowOf<'state.pinned_segments'>, 'blocks' | 'releasable_bytes'> {
  readonly segment: string;
  readonly expandable: boolean;
  /** Of its live blocks, by call site, most bytes first. */
  readonly pinned_by: readonly (PeakGroup & { readonly site: string; readonly label: string | null })[];
}

export interface FragmentationAt {
  /**
   * Inactive of reserved, where inactive is reserved less *active*: pending frees do not count as fragmentation. Null
   * without a reserve.
   */
  readonly inactive_of_reserved: number | null;
  /** Largest hole of all inactive bytes: 1 = all free memory in one piece. Null without a hole. */
  readonly largest_hole_of_inactive: number | null;
  /** Σ hole² ÷ (Σ segment)², which memory_viz computes and shows nowhere. Null without a reserve. */
  readonly squared_gap_index: number | null;
}

/** A device at one moment of its trace. */
export interface DeviceAt {
  /** Its handle. */
  readonly snapshot: string;
  readonly path: string;
  readonly rank: number | null;
  readonly device: number;
  readonly moment: string;
  /** Entry after which this is the state; null = before the first entry, or no trace. */
  readonly seq: number | null;
  /** The last entry of the trace; null without a trace. */
  readonly last_seq: number | null;
  readonly time_us: number | null;
  readonly reserved_bytes: number;
  readonly active_bytes: number;
  readonly pending_bytes: number;
  readonly segments: number;
  /** `actual`: nothing contradicts the walk. `approximate`: the trace contradicts itself. */
  readonly basis: 'actual' | 'approximate';
}

export interface AtResult
  extends DeviceAt,
    Pick<RowOf<'state.totals'>, 'requested_bytes' | 'rounding_bytes' | 'blocks' | 'uncertain_blocks'>,
    Pick<RowOf<'state.totals'>, 'uncertain_bytes'>,
    Pick<RowOf<'state.shares'>, 'inactive_bytes' | 'largest_hole_bytes' | 'holes' | 'releasable_bytes'> {
  readonly schema: 'mbforensics/at@1';
  /** What that entry did. */
  readonly entry: {
    readonly action: string;
    readonly address: string | null;
    readonly size_bytes: number;
    readonly site: string | null;
  } | null;
  /** The request that failed in this state: the next entry, if it is an OOM. */
  readonly failed_request: {
    readonly seq: number;
    /** Rounded up, as the allocator does. */
    readonly requested_bytes: number;
    readonly site: string | null;
  } | null;
  readonly allocated_bytes: number;
  /**
   * `cold`: the trace begins with an empty allocator. `late`: with live memory. `overwritten`: the ring lost its oldest
   * entries. Null without a trace.
   */
  readonly start: 'cold' | 'late' | 'overwritten' | null;
  /** What ingest noted of the ring of entries: that it overflowed, or probably did. */
  readonly ring_note: string | null;
  /** The program's open NVTX ranges at that time; null where no Nsight Systems export covers it. */
  readonly nvtx: NvtxAt | null;
  readonly fragmentation: FragmentationAt;
  readonly pools: readonly PoolAt[];
  readonly streams: readonly StreamAt[];
  readonly sites: readonly (PeakGroup & { readonly site: string })[];
  readonly other_sites: PeakGroup & { readonly groups: number };
  readonly largest_holes: readonly HoleAt[];
  readonly pinned_segments: readonly PinnedSegment[];
  readonly other_pinned_segments: { readonly segments: number; readonly inactive_bytes: number };
}

/** One segment as it is drawn. */
export interface SegmentDrawing
  extends Pick<RowOf<'state.largest_segments'>, 'total_bytes' | 'active_bytes' | 'pending_bytes' | 'blocks' | 'holes'>,
    Pick<RowOf<'state.largest_segments'>, 'largest_hole_bytes'> {
  readonly address: string;
  readonly expandable: boolean;
  /**
   * Per cell of `cell_bytes`: share of it that is allocated, and that is pending, 0 to 1. The last cell may be shorter.
   */
  readonly cells: readonly (readonly [allocated: number, pending: number])[];
}

export interface SegmentGroup extends ReserveShare, MemoryPlace {
  /** Bytes of one cell in all drawings of this group. */
  readonly cell_bytes: number;
  readonly drawings: readonly SegmentDrawing[];
  /** Left out by the limit. */
  readonly other_segments: { readonly segments: number; readonly total_bytes: number; readonly active_bytes: number };
}

export interface SegmentsResult extends DeviceAt {
  readonly schema: 'mbforensics/segments@1';
  readonly groups: readonly SegmentGroup[];
}

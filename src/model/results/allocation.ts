/** What `allocations` returns. Field names are the JSON's. */

export const ALLOCATION_ORDERS = ['bytes', 'lifetime', 'entry'] as const;
export type AllocationOrder = (typeof ALLOCATION_ORDERS)[number];

export interface AllocationRow {
  /** As memory_viz names the block: `b<address>_<how often it was freed before>`. */
  readonly label: string;
  readonly address: string;
  /** `before_trace`: live before the first entry. */
  readonly origin: 'traced' | 'before_trace';
  readonly alloc_seq: number | null;
  readonly free_requested_seq: number | null;
  /** Null: not within the trace. */
  readonly free_completed_seq: number | null;
  readonly requested_bytes: number | null;
  /** Of the block, with rounding and what a split left on it. */
  readonly actual_bytes: number | null;
  /** By how much it may be larger. */
  readonly uncertain_bytes: number | null;
  readonly alloc_us: number | null;
  readonly free_us: number | null;
  readonly lifetime_us: number | null;
  readonly lifetime_entries: number | null;
  /** By first appearance in the file; 0 = the default stream. */
  readonly stream: number | null;
  readonly pool: readonly [number, number] | null;
  readonly site: string;
  /** Innermost first, without the allocator's own frames. */
  readonly frames: readonly string[];
  /** `free_event`: the stack is that of the free, the allocation was not recorded. */
  readonly stack_origin: string;
  /** Innermost record_function scope open at the allocation. */
  readonly stage: string | null;
  readonly compile_context: string | null;
  readonly user_metadata: string | null;
}

export interface AllocationsResult {
  readonly schema: 'mbforensics/allocations@1';
  readonly snapshot: string;
  readonly path: string;
  readonly rank: number | null;
  readonly device: number;
  /** Only those live then; null = all of the trace. */
  readonly moment: string | null;
  readonly seq: number | null;
  readonly sort: AllocationOrder;
  readonly count: number;
  readonly actual_bytes: number;
  readonly requested_bytes: number;
  /** `approximate`: the trace contradicts itself. */
  readonly basis: 'actual' | 'approximate';
  readonly allocations: readonly AllocationRow[];
}

/** What `allocations` returns. */
import type { DeviceAt } from './at.js';
import type { RowOf } from './row-of.js';

export const ALLOCATION_ORDERS = ['bytes', 'lifetime', 'entry'] as const;
export type AllocationOrder = (typeof ALLOCATION_ORDERS)[number];

type AllocationList = RowOf<'allocation.list'>;

/**
 * Sizes are of the block; `uncertain_bytes`: by how much it may be larger. An entry that is null is not in the trace.
 */
export interface AllocationRow
  extends Pick<AllocationList, 'alloc_seq' | 'free_requested_seq' | 'free_completed_seq'>,
    Pick<AllocationList, 'requested_bytes' | 'actual_bytes' | 'uncertain_bytes'>,
    Pick<AllocationList, 'alloc_us' | 'free_us' | 'lifetime_us' | 'lifetime_entries'> {
  /** As memory_viz names the block: `b<address>_<how often it was freed before>`. */
  readonly label: string;
  readonly address: string;
  /** `before_trace`: live before the first entry. */
  readonly origin: 'traced' | 'before_trace';
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

export interface AllocationsResult
  extends Pick<DeviceAt, 'snapshot' | 'path' | 'rank' | 'device' | 'seq' | 'basis'>,
    RowOf<'allocation.totals'> {
  readonly schema: 'mbforensics/allocations@1';
  /** Only those live then; null = all of the trace. */
  readonly moment: string | null;
  readonly sort: AllocationOrder;
  readonly allocations: readonly AllocationRow[];
}

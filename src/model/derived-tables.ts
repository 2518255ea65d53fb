/**
 * Layouts of the `derived_*` tables about memory snapshots: what the walk over a trace found out, kept so that the next
 * question need not walk again. They hold nothing that the base tables do not imply; a source that is replaced takes
 * its rows along. The schema is `src/store/migrations.ts`.
 */
import type { ColumnSpec, TableLayout } from './columns.js';
import { BLOCK_STATES, SEGMENT_TYPES } from './vocabulary.js';

/** Raised whenever the same trace would derive to other rows: what was derived by another version is derived again. */
export const HISTORY_RULES = 1;

/**
 * Where a block's stack comes from. `free_event` is a substitute: the stack of the free, where the allocation is
 * outside the trace.
 */
export const STACK_ORIGINS = ['none', 'final_block', 'alloc_event', 'free_event'] as const;

const KEYS: readonly ColumnSpec[] = [
  { name: 'snapshot_id', kind: 'i32' },
  { name: 'device', kind: 'i32' },
];
const POOL: ColumnSpec = { name: 'pool', kind: 'i32', nullable: true };
const STACK: ColumnSpec = { name: 'stack_id', kind: 'i32', nullable: true };
const ORIGIN: ColumnSpec = { name: 'stack_origin', kind: 'u8', values: STACK_ORIGINS };

/**
 * Segments before the first entry of the trace, expandable ones as their mapped runs. `is_inferred`: type and pool are
 * not from any source.
 */
export const START_SEGMENT_LAYOUT: TableLayout = {
  table: 'derived_start_segment',
  columns: [
    ...KEYS,
    { name: 'address', kind: 'u64' },
    { name: 'total_bytes', kind: 'i64' },
    { name: 'stream', kind: 'i64', nullable: true },
    { name: 'segment_type', kind: 'u8', values: SEGMENT_TYPES },
    POOL,
    { name: 'is_expandable', kind: 'u8' },
    { name: 'is_inferred', kind: 'u8' },
  ],
};

/**
 * Blocks that were live before the first entry. `size_bytes` is actual; the bounds differ from it where it is
 * uncertain.
 */
export const START_BLOCK_LAYOUT: TableLayout = {
  table: 'derived_start_block',
  columns: [
    ...KEYS,
    { name: 'address', kind: 'u64' },
    { name: 'size_bytes', kind: 'i64' },
    { name: 'least_bytes', kind: 'i64' },
    { name: 'most_bytes', kind: 'i64' },
    { name: 'requested_bytes', kind: 'i64', nullable: true },
    { name: 'state', kind: 'u8', values: BLOCK_STATES },
    STACK,
    ORIGIN,
    { name: 'stream', kind: 'i64', nullable: true },
    { name: 'segment_type', kind: 'u8', values: SEGMENT_TYPES },
    POOL,
  ],
};

/**
 * Allocations with facts beyond their trace entry: actual bytes beyond the request rounded up to 512, private pools,
 * stacks of the final block.
 */
export const ALLOC_FACT_LAYOUT: TableLayout = {
  table: 'derived_alloc',
  columns: [
    ...KEYS,
    { name: 'seq', kind: 'i32' },
    { name: 'excess_bytes', kind: 'i64' },
    { name: 'uncertain_bytes', kind: 'i64' },
    POOL,
    STACK,
    ORIGIN,
  ],
};

/** Whose memory a segment_alloc or segment_map brought. */
export const GROWTH_FACT_LAYOUT: TableLayout = {
  table: 'derived_growth',
  columns: [
    ...KEYS,
    { name: 'seq', kind: 'i32' },
    { name: 'segment_type', kind: 'u8', values: SEGMENT_TYPES },
    POOL,
    { name: 'is_inferred', kind: 'u8' },
  ],
};

/**
 * Smallest and largest totals after each of 2^k consecutive entries; bucket 0 also looks at the state before the first.
 * All in actual bytes. k is the least that gives at most {@link MAX_BUCKETS} rows a device: exact by entry up to there.
 */
export const BUCKET_LAYOUT: TableLayout = {
  table: 'derived_bucket',
  columns: [
    ...KEYS,
    { name: 'bucket', kind: 'i32' },
    { name: 'first_seq', kind: 'i32' },
    { name: 'last_seq', kind: 'i32' },
    { name: 'first_time_us', kind: 'i64', nullable: true },
    { name: 'last_time_us', kind: 'i64', nullable: true },
    { name: 'allocated_min_bytes', kind: 'i64' },
    { name: 'allocated_max_bytes', kind: 'i64' },
    { name: 'active_min_bytes', kind: 'i64' },
    { name: 'active_max_bytes', kind: 'i64' },
    { name: 'reserved_min_bytes', kind: 'i64' },
    { name: 'reserved_max_bytes', kind: 'i64' },
  ],
};

export const MAX_BUCKETS = 65_536;

/**
 * Which label each block has that lived during the trace: by the entry that allocated it, or by its address before the
 * first.
 */
export const BLOCK_LABEL_LAYOUT: TableLayout = {
  table: 'derived_block_label',
  columns: [
    ...KEYS,
    { name: 'alloc_seq', kind: 'i32', nullable: true },
    { name: 'address', kind: 'u64', nullable: true },
    { name: 'label', kind: 'i32' },
  ],
};

export const DERIVED_LAYOUTS: readonly TableLayout[] = [
  START_SEGMENT_LAYOUT,
  START_BLOCK_LAYOUT,
  ALLOC_FACT_LAYOUT,
  GROWTH_FACT_LAYOUT,
  BUCKET_LAYOUT,
];

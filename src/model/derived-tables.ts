/**
 * Layouts of the tables that ingest derives from a memory snapshot: lifetimes, totals and labels. They hold nothing
 * that the base tables do not imply; a source that is replaced takes its rows along. The schema is
 * `src/store/migrations.ts`.
 */
import type { ColumnSpec, TableLayout } from './columns.js';
import { SEGMENT_TYPES } from './vocabulary.js';

/** Raised whenever the same trace would derive to other rows: what was derived by another version is derived again. */
export const HISTORY_RULES = 3;

/**
 * Where a block's stack comes from. `free_event` is a substitute: the stack of the free, where the allocation is
 * outside the trace.
 */
export const STACK_ORIGINS = ['none', 'final_block', 'alloc_event', 'free_event'] as const;

/** `from_seq` of what was there before the first entry. */
export const BEFORE_TRACE = -1;
/** `to_seq`, and entries of other events, that are not in the trace. */
export const NEVER = 2 ** 31 - 1;

const KEYS: readonly ColumnSpec[] = [
  { name: 'snapshot_id', kind: 'i32' },
  { name: 'device', kind: 'i32' },
];
const POOL: ColumnSpec = { name: 'pool', kind: 'i32', nullable: true };
const LIFE: readonly ColumnSpec[] = [
  { name: 'from_seq', kind: 'i32' },
  { name: 'to_seq', kind: 'i32' },
];

/**
 * One row per block that was live at any moment of a trace: after entry t if `from_seq` ≤ t < `to_seq`. Without a
 * trace, the blocks of the dump. `block` numbers them per device: those from before the first entry by address, then
 * the allocations in order. `pending_seq` is the entry from which the block waits for its free to be completed
 * ({@link BEFORE_TRACE}: from before the first entry on). `actual_bytes` is the size of the block, `least_bytes` and
 * `most_bytes` bound it where the trace leaves it open. `label` is a row of `label`.
 */
export const BLOCK_LIFE_LAYOUT: TableLayout = {
  table: 'block_life',
  columns: [
    ...KEYS,
    { name: 'block', kind: 'i32' },
    { name: 'address', kind: 'u64' },
    ...LIFE,
    { name: 'pending_seq', kind: 'i32' },
    { name: 'requested_bytes', kind: 'i64', nullable: true },
    { name: 'actual_bytes', kind: 'i64' },
    { name: 'least_bytes', kind: 'i64' },
    { name: 'most_bytes', kind: 'i64' },
    { name: 'stream', kind: 'i64', nullable: true },
    POOL,
    { name: 'stack_id', kind: 'i32', nullable: true, refersTo: 'stack' },
    { name: 'stack_origin', kind: 'u8', values: STACK_ORIGINS },
    { name: 'alloc_us', kind: 'i64', nullable: true },
    { name: 'free_us', kind: 'i64', nullable: true },
    { name: 'compile_context_id', kind: 'i32', nullable: true, refersTo: 'text' },
    { name: 'user_metadata_id', kind: 'i32', nullable: true, refersTo: 'text' },
    { name: 'label', kind: 'i32', nullable: true },
  ],
};

/**
 * One row per extent of a segment, expandable ones as their mapped runs: a run that grows or shrinks ends and begins.
 * `is_inferred`: type or pool are not from any source.
 */
export const SEGMENT_LIFE_LAYOUT: TableLayout = {
  table: 'segment_life',
  columns: [
    ...KEYS,
    { name: 'address', kind: 'u64' },
    { name: 'total_bytes', kind: 'i64' },
    ...LIFE,
    { name: 'stream', kind: 'i64', nullable: true },
    { name: 'segment_type', kind: 'u8', values: SEGMENT_TYPES },
    POOL,
    { name: 'is_expandable', kind: 'u8' },
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

/** Labels on their way into `block_life`, by the numbers of the blocks; empty between transactions. */
export const BLOCK_LABEL_LAYOUT: TableLayout = {
  table: 'block_label_staging',
  columns: [...KEYS, { name: 'block', kind: 'i32' }, { name: 'label', kind: 'i32' }],
};

/**
 * Layouts of the tables that ingest derives from a memory snapshot: lifetimes, totals and labels. They hold nothing
 * that the base tables do not imply; a source that is replaced takes its rows along. The schema is
 * `src/store/migrations.ts`.
 */
import { enumeration, i32, i64, layout, maybe, stack, text, u8, u64 } from './columns.js';
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

const KEYS = i32('snapshot_id', 'device');

/**
 * One row per block that was live at any moment of a trace: after entry t if `from_seq` ≤ t < `to_seq`. Without a
 * trace, the blocks of the dump. `block` numbers them per device: those from before the first entry by address, then
 * the allocations in order. `pending_seq` is the entry from which the block waits for its free to be completed
 * ({@link BEFORE_TRACE}: from before the first entry on). `actual_bytes` is the size of the block, `least_bytes` and
 * `most_bytes` bound it where the trace leaves it open. `label` is a row of `label`.
 */
export const BLOCK_LIFE_LAYOUT = layout(
  'block_life',
  KEYS,
  i32('block'),
  u64('address'),
  i32('from_seq', 'to_seq', 'pending_seq'),
  maybe(i64('requested_bytes')),
  i64('actual_bytes', 'least_bytes', 'most_bytes'),
  maybe(i64('stream'), i32('pool'), stack('stack_id')),
  enumeration('stack_origin', STACK_ORIGINS),
  maybe(i64('alloc_us', 'free_us'), text('compile_context_id', 'user_metadata_id'), i32('label')),
);

/**
 * One row per extent of a segment, expandable ones as their mapped runs: a run that grows or shrinks ends and begins.
 * `is_inferred`: type or pool are not from any source.
 */
export const SEGMENT_LIFE_LAYOUT = layout(
  'segment_life',
  KEYS,
  u64('address'),
  i64('total_bytes'),
  i32('from_seq', 'to_seq'),
  maybe(i64('stream')),
  enumeration('segment_type', SEGMENT_TYPES),
  maybe(i32('pool')),
  u8('is_expandable', 'is_inferred'),
);

/**
 * Smallest and largest totals after each of 2^k consecutive entries; bucket 0 also looks at the state before the first.
 * All in actual bytes. k is the least that gives at most {@link MAX_BUCKETS} rows a device: exact by entry up to there.
 */
export const BUCKET_LAYOUT = layout(
  'derived_bucket',
  KEYS,
  i32('bucket', 'first_seq', 'last_seq'),
  maybe(i64('first_time_us', 'last_time_us')),
  i64(
    'allocated_min_bytes',
    'allocated_max_bytes',
    'active_min_bytes',
    'active_max_bytes',
    'reserved_min_bytes',
    'reserved_max_bytes',
  ),
);

export const MAX_BUCKETS = 65_536;

/** Labels on their way into `block_life`, by the numbers of the blocks; empty between transactions. */
export const BLOCK_LABEL_LAYOUT = layout('block_label_staging', KEYS, i32('block', 'label'));

/** Of what is derived about a run: raised whenever the same rows would lead to other facts, verdicts or evidence. */
export const DERIVE_RULES = 7;

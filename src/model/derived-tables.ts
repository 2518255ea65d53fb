/**
 * Layouts of the tables that ingest derives from a memory snapshot: lifetimes, totals and labels. What their columns
 * are is in `queries/schema/lifetimes.sql`.
 */
import { enumeration, i32, i64, layout, maybe, stack, text, u8, u64 } from './columns.js';
import { SEGMENT_TYPES } from './vocabulary.js';

export const STACK_ORIGINS = ['none', 'final_block', 'alloc_event', 'free_event'] as const;

/** `from_seq` of what was there before the first entry. */
export const BEFORE_TRACE = -1;
/** `to_seq`, and entries of other events, that are not in the trace. */
export const NEVER = 2 ** 31 - 1;

const KEYS = i32('snapshot_id', 'device');

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

/** 2^k entries a row; k is the least that gives at most {@link MAX_BUCKETS} rows: exact by entry up to there. */
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

export const BLOCK_LABEL_LAYOUT = layout('block_label_staging', KEYS, i32('block', 'label'));

/** Of what is derived about a run: raised whenever the same rows would lead to other facts, verdicts or evidence. */
export const DERIVE_RULES = 7;

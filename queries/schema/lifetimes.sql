-- What ingest derives from a memory snapshot. It holds nothing that the rows of the file do not imply, and is deleted with them. Other
-- rules of deriving are another version of the schema.

-- What the walks over the trace of a device found out; sizes are actual
CREATE TABLE derived_history (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal
  events INTEGER NOT NULL, -- entries of the trace
  blocks INTEGER NOT NULL, -- rows of block_life
  holds BOOLEAN NOT NULL, -- nothing contradicts the allocator's rules, or only the last few entries, as of a dump that is not atomic
  starts_empty BOOLEAN NOT NULL, -- nothing was reserved before the first entry: the trace has the whole run
  violations INTEGER NOT NULL, -- entries that contradict the rules
  implied_completions INTEGER NOT NULL, -- completed frees that the trace lacks
  requests_recorded BOOLEAN NOT NULL, -- the trace has free_requested entries
  completions_recorded BOOLEAN NOT NULL, -- the trace has free_completed entries
  pooled BOOLEAN NOT NULL, -- entries name other pools than the default one
  peak_active_bytes BIGINT NOT NULL, -- largest active memory
  peak_active_seq INTEGER, -- earliest entry after which it held; NULL: before the first
  peak_reserved_bytes BIGINT NOT NULL, -- largest reserved memory
  peak_reserved_seq INTEGER, -- earliest entry after which it held; NULL: before the first
  uncertain_blocks INTEGER NOT NULL, -- blocks from before the trace whose size is only bounded
  uncertain_bytes BIGINT NOT NULL, -- by so much
  bucket_entries INTEGER NOT NULL, -- entries of a row of derived_bucket
  steps_origin VARCHAR, -- annotations that bound training steps: profiler_step or optimizer_step; NULL: none
  steps_annotations VARCHAR, -- their names, a JSON list
  steps_annotations_device INTEGER, -- device that they name, where it is another one
  steps_without_entries INTEGER NOT NULL, -- steps inside the trace without entries
  max_split_bytes BIGINT, -- max_split_size_mb; NULL: no limit
  max_non_split_rounding_bytes BIGINT, -- max_non_split_rounding_mb
  large_segment_bytes BIGINT, -- segment for a request of 1 to 10 MiB
  roundup_divisions VARCHAR -- roundup_power2_divisions from 1 MiB on, joined by commas; NULL: none
);

-- The lifetime of a block: live after entry t if from_seq <= t < to_seq. Without a trace, the blocks of the dump
CREATE TABLE block_life (
  snapshot_id INTEGER, -- the snapshot
  device INTEGER, -- CUDA ordinal
  block INTEGER, -- number per device: blocks from before the trace by address, then the allocations in order
  address UBIGINT, -- first byte
  from_seq INTEGER, -- entry of the allocation; -1: before the first entry
  to_seq INTEGER, -- entry that ends it; 2147483647: not in the trace
  pending_seq INTEGER, -- entry from which its free is pending; -1: before the first entry, 2147483647: not in the trace
  requested_bytes BIGINT NULL, -- what was asked for
  excess_bytes BIGINT, -- actual_bytes - requested_bytes; actual_bytes where the request is not known
  actual_bytes BIGINT GENERATED ALWAYS AS (coalesce(requested_bytes, 0) + excess_bytes), -- size of the block
  least_bytes BIGINT NULL, -- lower bound of the size, where the trace leaves it open; NULL: the size is certain
  most_bytes BIGINT NULL, -- upper bound of the size; NULL: the size is certain
  stream BIGINT NULL, -- CUDA stream
  pool INTEGER NULL, -- memory pool, a snapshot_pool
  stack_id INTEGER NULL, -- where it was allocated
  stack_origin stack_origin, -- where the stack is from; free_event: the stack of the free, as the allocation is outside the trace
  alloc_us BIGINT NULL, -- time of the allocation, µs since 1970
  request_us BIGINT NULL, -- time of the entry pending_seq, µs since 1970
  free_us BIGINT NULL, -- time of the free, µs since 1970
  free_stack_id INTEGER NULL, -- where it was freed
  compile_context_id INTEGER NULL, -- @text torch.compile context, a text_value
  user_metadata_id INTEGER NULL, -- @text metadata that the user set, a text_value
  entries UTINYINT, -- entries that the view event takes from it: 1 allocation, 2 request and 4 completion of its free; 8: with pool
  label INTEGER NULL -- its label; NULL: not labelled yet
);

-- An extent of a segment after entries from_seq to to_seq - 1; a mapped run that grows or shrinks ends and begins
CREATE TABLE segment_life (
  snapshot_id INTEGER, -- the snapshot
  device INTEGER, -- CUDA ordinal
  address UBIGINT, -- first byte
  total_bytes BIGINT, -- its size
  from_seq INTEGER, -- entry that takes it; -1: before the first entry
  to_seq INTEGER, -- entry that ends it; 2147483647: not in the trace
  stream BIGINT NULL, -- CUDA stream
  segment_type segment_type, -- class of size that it serves
  pool INTEGER NULL, -- memory pool, a snapshot_pool
  is_expandable UTINYINT, -- 1: of expandable_segments
  is_inferred UTINYINT -- 1: type or pool are not from any source
);

-- A training step in the trace of a device, by annotations
CREATE TABLE trace_step (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal
  ordinal INTEGER NOT NULL, -- place among the steps of the device, from 0
  step BIGINT NOT NULL, -- number in ProfilerStep#N, or ordinal of the optimizer step, from 1; not unique after a restart
  start_us BIGINT, -- its start, µs since 1970
  end_us BIGINT, -- its end, µs since 1970
  first_seq INTEGER, -- first entry; NULL: the trace has none of it
  last_seq INTEGER, -- last entry
  occurrence INTEGER, -- which of the steps of this number, from 1
  partial VARCHAR -- what the trace lacks of it: start, end or both; NULL: nothing
);

-- Least and most memory after 2^k consecutive entries, k >= 6, split at training steps. At most about 65,536 rows a device
CREATE TABLE derived_bucket (
  snapshot_id INTEGER, -- the snapshot
  device INTEGER, -- CUDA ordinal
  bucket INTEGER, -- number per device; 0 has the state before the first entry too
  first_seq INTEGER, -- first entry
  last_seq INTEGER, -- last entry
  first_time_us BIGINT NULL, -- its time, µs since 1970
  last_time_us BIGINT NULL, -- its time, µs since 1970
  allocated_min_bytes BIGINT, -- least allocated memory
  allocated_max_bytes BIGINT, -- most allocated memory
  active_min_bytes BIGINT, -- least active memory: allocated, and frees that are pending
  active_max_bytes BIGINT, -- most active memory
  reserved_min_bytes BIGINT, -- least reserved memory
  reserved_max_bytes BIGINT -- most reserved memory
);

-- Sums of a device just before its last OOM entry; actual sizes
CREATE TABLE oom_state (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal
  seq INTEGER NOT NULL, -- the OOM entry
  stream BIGINT, -- CUDA stream of the request
  stack_id INTEGER, -- where the request was made
  segment_request_bytes BIGINT NOT NULL, -- what the driver was asked for
  freed_by_wait_bytes BIGINT NOT NULL, -- pending frees that torch waited for before it gave up
  reserved_bytes BIGINT NOT NULL, -- sizes of the segments
  private_reserved_bytes BIGINT NOT NULL, -- of these, of other pools than the default one
  allocated_bytes BIGINT NOT NULL, -- blocks in use, all pools
  pending_bytes BIGINT NOT NULL, -- freed, and still used by a stream, all pools
  private_live_bytes BIGINT NOT NULL, -- allocated and pending in other pools than the default one
  default_pending_bytes BIGINT NOT NULL, -- pending in the default pool
  requested_bytes BIGINT NOT NULL, -- requests of allocated blocks in the default pool
  rounding_bytes BIGINT NOT NULL, -- what these blocks have beyond their requests
  request_not_recorded_bytes BIGINT NOT NULL, -- allocated blocks of the default pool without a request
  uncertain_blocks BIGINT NOT NULL, -- blocks whose size is only bounded
  uncertain_bytes BIGINT NOT NULL -- by so much
);

-- What live blocks have beyond their requests at the last OOM entry because of settings; only where one of them is set
CREATE TABLE oom_rounding (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal
  seq INTEGER NOT NULL, -- the OOM entry
  oversize_slack_bytes BIGINT NOT NULL, -- of blocks handed out whole under max_split_size_mb
  power2_rounding_bytes BIGINT -- by roundup_power2_divisions; NULL: not set
);

-- A free block just before the last OOM entry of a device
CREATE TABLE oom_hole (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal
  seq INTEGER NOT NULL, -- the OOM entry
  address UBIGINT NOT NULL, -- first byte
  bytes BIGINT NOT NULL, -- its size
  reason VARCHAR NOT NULL, -- too_small, kept_for_larger, large_enough (freed in last wait), other_stream, other_size_class, private_pool
  page_pinned_bytes BIGINT NOT NULL, -- of it, on pages of an expandable segment with live blocks
  segment_address UBIGINT NOT NULL, -- its segment
  segment_bytes BIGINT NOT NULL, -- size of the segment
  segment_type segment_type NOT NULL, -- class of size that the segment serves
  stream BIGINT, -- CUDA stream
  pool INTEGER, -- memory pool, a snapshot_pool
  is_expandable UTINYINT NOT NULL, -- 1: of expandable_segments
  live_blocks BIGINT NOT NULL, -- active blocks of the segment
  live_bytes BIGINT NOT NULL -- their sizes
);

-- A device whose blocks are labelled with components
CREATE TABLE labelled_device (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal
  rules INTEGER NOT NULL, -- version of the rules; labels of another version are made again when the store is opened
  figures VARCHAR NOT NULL -- facts of the run that were used, JSON: parameters of the rank, distributed optimizer
);

-- A label of blocks of a device: what their memory is for
CREATE TABLE label (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal
  label INTEGER NOT NULL, -- number per device, as block_life has it
  component VARCHAR NOT NULL, -- such as parameter, gradient or activation
  sub_component VARCHAR NOT NULL, -- part of the component
  phase VARCHAR NOT NULL, -- phase of training in which it was allocated
  known_by VARCHAR NOT NULL, -- rule, inference or none
  confidence VARCHAR NOT NULL, -- proven, high, medium or low
  rules VARCHAR NOT NULL -- names of the rules and inferences, joined by blanks
);

-- Labels on their way into block_life; empty between transactions
CREATE TABLE block_label_staging (
  snapshot_id INTEGER, -- the snapshot
  device INTEGER, -- CUDA ordinal
  block INTEGER, -- the block
  label INTEGER -- its label
);

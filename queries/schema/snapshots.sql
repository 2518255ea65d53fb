-- Memory snapshots of PyTorch, and timelines of torch.profiler. trace_entry, segment and block lack an index: their rows arrive clustered
-- by (snapshot_id, device, seq), so that DuckDB's zone maps find ranges, and an index would have to be kept in memory.

-- A memory snapshot
CREATE TABLE snapshot (
  snapshot_id INTEGER NOT NULL, -- number in this store
  source_id INTEGER NOT NULL, -- its file
  run_id INTEGER NOT NULL, -- its run
  rank INTEGER, -- global rank
  handle VARCHAR NOT NULL, -- run/rank/snapshot#n, as verbs take it
  protocol INTEGER, -- of pickle; NULL for JSON
  form VARCHAR NOT NULL, -- dict, or list of segments
  has_traces BOOLEAN NOT NULL, -- some device has trace entries
  last_is_oom BOOLEAN NOT NULL, -- a trace ends with its OOM: dumped by an OOM observer
  dump_trigger VARCHAR, -- why it was dumped: oom, failure, periodic or manual; NULL: not known
  dump_trigger_origin VARCHAR, -- how that is known
  step BIGINT, -- training step of the dump
  step_origin VARCHAR -- how that is known
);

-- A feature of a snapshot that dates the torch which wrote it
CREATE TABLE snapshot_feature (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  feature VARCHAR NOT NULL -- such as block.history or event.time_us
);

-- A setting of the allocator, as the snapshot records it
CREATE TABLE snapshot_setting (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  key VARCHAR NOT NULL, -- as in allocator_settings
  value VARCHAR NOT NULL -- as recorded
);

-- The id of a memory pool
CREATE TABLE snapshot_pool (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  pool INTEGER NOT NULL, -- number by which rows of the snapshot name the pool
  pool_id_a BIGINT NOT NULL, -- first half of torch's pool id; (0, 0) is the default pool
  pool_id_b BIGINT NOT NULL -- second half
);

-- Sums of one device of a snapshot
CREATE TABLE snapshot_device (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal in its process
  segments BIGINT NOT NULL, -- segments in the dump
  blocks BIGINT NOT NULL, -- blocks in the dump
  reserved_bytes BIGINT NOT NULL, -- sizes of the segments
  allocated_bytes BIGINT NOT NULL, -- blocks in use, actual sizes
  active_bytes BIGINT NOT NULL, -- these, and blocks whose free is pending
  inactive_bytes BIGINT NOT NULL, -- free blocks
  largest_inactive_block_bytes BIGINT, -- largest free block
  events BIGINT, -- trace entries; NULL: no trace
  unmatched_free_bytes BIGINT, -- frees in the trace of memory from before it, requested sizes
  requested_delta_bytes BIGINT, -- allocations less completed frees of the trace, requested sizes
  requested_delta_peak_bytes BIGINT, -- largest value of that after an entry; at least 0
  requested_delta_peak_seq INTEGER, -- first entry with it; NULL: before the first
  reserved_delta_bytes BIGINT, -- segments taken less given back in the trace
  reserved_delta_peak_bytes BIGINT, -- largest value of that after an entry; at least 0
  first_action trace_action, -- of the first entry
  last_action trace_action, -- of the last entry
  invariants_hold BOOLEAN NOT NULL -- sums of blocks, segments and trace agree
);

-- Trace entries of a device by action
CREATE TABLE snapshot_action (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal
  action trace_action NOT NULL, -- kind of entry
  count BIGINT NOT NULL -- number of entries
);

-- An OOM entry of a trace
CREATE TABLE trace_oom (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal
  seq INTEGER NOT NULL, -- the entry
  requested_bytes BIGINT NOT NULL, -- rounded request, smaller than what the OOM message prints
  device_free_bytes BIGINT -- free memory of the device by cudaMemGetInfo at that moment: the only number of the driver in a snapshot
);

-- A key of a trace entry without a column of its own
CREATE TABLE event_extra (
  snapshot_id INTEGER NOT NULL, -- the snapshot
  device INTEGER NOT NULL, -- CUDA ordinal
  seq INTEGER NOT NULL, -- the entry
  key VARCHAR NOT NULL, -- its name in the file
  value_json VARCHAR NOT NULL -- its value as JSON, unchanged
);

-- Start or end of a record_function scope (external_annotations)
CREATE TABLE annotation (
  snapshot_id INTEGER, -- the snapshot
  ordinal INTEGER, -- place in the file, from 0
  stage annotation_stage, -- START or END
  name_id INTEGER, -- @text name of the scope, a text_value
  device INTEGER NULL, -- current device of the thread, which may be another one than the scope's
  time_us BIGINT NULL -- µs since 1970
);

-- A trace entry that no row of block_life has: of segments and OOMs, and frees that differ from their allocation. All are in event
CREATE TABLE trace_entry (
  snapshot_id INTEGER, -- the snapshot
  device INTEGER, -- CUDA ordinal
  seq INTEGER, -- index in the trace of the device: the only order, since times may jitter
  action trace_action, -- what happened
  addr UBIGINT NULL, -- address of the block or segment
  size_bytes BIGINT, -- requested size of an alloc or free, size of a segment, rounded request of an oom, active memory of a snapshot
  stream BIGINT NULL, -- CUDA stream
  time_us BIGINT NULL, -- µs since 1970
  pool INTEGER NULL, -- memory pool, a snapshot_pool
  stack_id INTEGER NULL, -- where it was called
  compile_context_id INTEGER NULL, -- @text torch.compile context, a text_value
  user_metadata_id INTEGER NULL -- @text metadata that the user set, a text_value
);

-- A segment at the dump; *_header_bytes are torch's own sums, for checks only
CREATE TABLE segment (
  snapshot_id INTEGER, -- the snapshot
  segment INTEGER, -- number in the snapshot, from 0
  device INTEGER, -- CUDA ordinal
  address UBIGINT, -- first byte
  total_bytes BIGINT, -- its size
  allocated_header_bytes BIGINT NULL, -- allocated_size as written
  active_header_bytes BIGINT NULL, -- active_size as written
  requested_header_bytes BIGINT NULL, -- requested_size as written
  stream BIGINT NULL, -- CUDA stream
  segment_type segment_type, -- class of size that it serves
  pool INTEGER NULL, -- memory pool, a snapshot_pool
  is_expandable UTINYINT NULL, -- 1: of expandable_segments
  stack_id INTEGER NULL -- where it was taken
);

-- A block at the dump, in address order within its segment
CREATE TABLE block (
  snapshot_id INTEGER, -- the snapshot
  segment INTEGER, -- its segment
  device INTEGER, -- CUDA ordinal
  address UBIGINT, -- first byte
  size_bytes BIGINT, -- actual size
  requested_bytes BIGINT NULL, -- what was asked for; NULL unless the block is active
  state block_state, -- in use, waiting for its free, or free
  stack_id INTEGER NULL, -- where it was allocated
  left_over_bytes BIGINT NULL -- requested size that a free block still carries of an earlier user, for exports
);

-- An entry of host_traces (torch 2.14, record_pinned_host_memory=True): pinned memory of the host, one trace for the process
CREATE TABLE host_event (
  snapshot_id INTEGER, -- the snapshot
  seq INTEGER, -- index in the trace
  action trace_action, -- what happened
  addr UBIGINT NULL, -- address of the block
  size_bytes BIGINT, -- size of the block: the request rounded up, to a power of two below pinned_max_round_threshold_mb
  time_us BIGINT NULL, -- µs since 1970
  pool INTEGER NULL, -- memory pool, a snapshot_pool
  stack_id INTEGER NULL -- where it was called
);

-- An element of host_segments: a block of pinned host memory at the dump, which is never split
CREATE TABLE host_segment (
  snapshot_id INTEGER, -- the snapshot
  segment INTEGER, -- number in the snapshot, from 0
  address UBIGINT, -- first byte
  total_bytes BIGINT, -- its size, rounded up
  allocated_bytes BIGINT, -- in use by the program
  active_bytes BIGINT, -- these, and what waits for a copy that the program has finished with
  pool INTEGER NULL, -- memory pool, a snapshot_pool
  stack_id INTEGER NULL -- where it was allocated
);

-- A change of one category in a memory timeline of torch.profiler
CREATE TABLE profiler_memory (
  source_id INTEGER, -- its file
  ordinal INTEGER, -- event of a raw timeline; point in time of a timeline that has sums, with several rows each
  time_ns BIGINT NULL, -- ns since 1970; NULL: it existed before the profiler started
  action profiler_action NULL, -- what happened; NULL: the file has sums, and each row is the difference to the point before
  delta_bytes BIGINT, -- change of the category
  category profiler_category -- what the memory is for
);

-- @name   library.allocation
-- @kind   view
-- @title  Every block that was live at any moment of a trace
-- @col    run                VARCHAR
-- @col    rank               INTEGER?
-- @col    snapshot_id        INTEGER
-- @col    device             INTEGER
-- @col    block              INTEGER   number per device: blocks from before the trace by address, then the allocations in order
-- @col    address            UBIGINT
-- @col    origin             VARCHAR   traced, or before_trace
-- @col    alloc_seq          INTEGER?  entry of the allocation
-- @col    free_requested_seq INTEGER?
-- @col    free_completed_seq INTEGER?
-- @col    requested_bytes    BIGINT?
-- @col    actual_bytes       BIGINT
-- @col    uncertain_bytes    BIGINT    how much larger the block may be
-- @col    alloc_us           BIGINT?
-- @col    free_us            BIGINT?
-- @col    lifetime_us        BIGINT?
-- @col    lifetime_entries   INTEGER?
-- @col    stream             BIGINT?
-- @col    pool               INTEGER?
-- @col    stack_id           INTEGER?
-- @col    stack_origin       VARCHAR   free_event: the stack of the free, where the allocation is outside the trace
-- @col    compile_context_id INTEGER?
-- @col    user_metadata_id   INTEGER?
-- @col    label              INTEGER?  row of the table label; NULL: not labelled yet
-- @why    block_life with NULL for what is outside the trace. Where completions of frees were not recorded, the request ends a block.
WITH life AS (
  SELECT *, CASE WHEN from_seq >= 0 THEN from_seq END AS alloc_seq,
    CASE WHEN pending_seq BETWEEN 0 AND 2147483646 THEN pending_seq END AS free_requested_seq,
    CASE WHEN to_seq < 2147483647 AND to_seq <> pending_seq THEN to_seq END AS free_completed_seq
  FROM block_life)
SELECT
  run.name AS run, snapshot.rank, life.snapshot_id, life.device, life.block, life.address,
  CASE WHEN life.from_seq >= 0 THEN 'traced' ELSE 'before_trace' END AS origin,
  life.alloc_seq, life.free_requested_seq, life.free_completed_seq, life.requested_bytes, life.actual_bytes,
  coalesce(life.most_bytes - life.least_bytes, 0) AS uncertain_bytes,
  life.alloc_us, life.free_us, life.free_us - life.alloc_us AS lifetime_us,
  life.free_completed_seq - life.alloc_seq AS lifetime_entries, life.stream, life.pool, life.stack_id,
  life.stack_origin::VARCHAR AS stack_origin, life.compile_context_id, life.user_metadata_id, life.label
FROM life
JOIN snapshot ON snapshot.snapshot_id = life.snapshot_id
JOIN run ON run.run_id = snapshot.run_id

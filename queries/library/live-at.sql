-- @name   library.live_at
-- @kind   macro
-- @title  Blocks that are live after one entry of a trace
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    block           INTEGER
-- @col    address         UBIGINT
-- @col    requested_bytes BIGINT?
-- @col    actual_bytes    BIGINT   size of the block
-- @col    least_bytes     BIGINT   bounds of the size; equal where it is certain
-- @col    most_bytes      BIGINT
-- @col    state           VARCHAR  active_allocated, or active_pending_free: freed, and still used by a stream
-- @col    alloc_seq       INTEGER? NULL: before the first entry
-- @col    stream          BIGINT?
-- @col    pool            INTEGER?
-- @col    stack_id        INTEGER?
-- @col    stack_origin    ENUM
-- @col    alloc_us        BIGINT?
-- @col    free_us         BIGINT?
-- @col    label           INTEGER? row of the table label
-- @why    Lifetimes are rows of block_life, so the state at any moment is a filter.
SELECT
  block, address, requested_bytes, actual_bytes,
  coalesce(least_bytes, actual_bytes) AS least_bytes, coalesce(most_bytes, actual_bytes) AS most_bytes,
  CASE WHEN pending_seq <= at_seq THEN 'active_pending_free' ELSE 'active_allocated' END AS state,
  CASE WHEN from_seq >= 0 THEN from_seq END AS alloc_seq, stream, pool, stack_id, stack_origin, alloc_us, free_us, label
FROM block_life
WHERE snapshot_id = snapshot_key AND device = device_no AND from_seq <= at_seq AND to_seq > at_seq

-- @name   _state.segments
-- @title  What each segment of a device holds after one entry of its trace, with the names of its pool
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    address       UBIGINT
-- @col    total_bytes   BIGINT
-- @col    stream        BIGINT?
-- @col    segment_type  VARCHAR
-- @col    pool_id_a     BIGINT?  (0, 0) is the default pool, and what no source names; NULL: unknown
-- @col    pool_id_b     BIGINT?
-- @col    is_expandable BOOLEAN
-- @col    blocks        BIGINT   live ones
-- @col    active_bytes  BIGINT
-- @col    pending_bytes BIGINT
-- @col    holes         BIGINT   free blocks
-- @col    largest_hole_bytes BIGINT
-- @col    hole_squares  DOUBLE   sum of the squares of their bytes
-- @col    releasable_bytes BIGINT  what a flush would give back to the driver
-- @why    The default pool is (0, 0), and so is a pool that nothing names.
SELECT
  segment.address, segment.total_bytes, segment.stream, segment.segment_type::VARCHAR AS segment_type,
  CASE WHEN segment.pool IS NULL THEN 0 ELSE pool.pool_id_a END AS pool_id_a,
  CASE WHEN segment.pool IS NULL THEN 0 ELSE pool.pool_id_b END AS pool_id_b, segment.is_expandable = 1 AS is_expandable,
  segment.live_blocks AS blocks, segment.live_bytes AS active_bytes, segment.pending_bytes, segment.free_blocks AS holes,
  segment.largest_free_bytes AS largest_hole_bytes, segment.free_squares AS hole_squares,
  segment.releasable_bytes
FROM segment_sums_at($snapshot_id, $device, $at_seq) AS segment
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = $snapshot_id AND pool.pool = segment.pool

-- @name   library.pools_at
-- @kind   macro
-- @title  Reserved, live and free memory of a device by pool, class of size and stream, after one entry of its trace
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    pool          INTEGER?
-- @col    pool_id       VARCHAR  torch's pair, (0,0) is the default pool; unknown where nothing names it
-- @col    segment_type  ENUM
-- @col    stream        BIGINT?
-- @col    is_expandable UTINYINT
-- @col    segments      BIGINT
-- @col    reserved_bytes BIGINT
-- @col    live_bytes    BIGINT
-- @col    live_blocks   BIGINT
-- @col    pending_bytes BIGINT  of the live bytes freed, and still used by a stream
-- @col    free_bytes    BIGINT
-- @col    largest_free_bytes BIGINT?
-- @col    first_address UBIGINT  lowest of its segments
-- @why    What one request can and cannot use. The sums over all rows are reserved, live and free memory of the device.
SELECT
  segment.pool, coalesce('(' || pool.pool_id_a || ',' || pool.pool_id_b || ')', 'unknown') AS pool_id, segment.segment_type, segment.stream,
  segment.is_expandable, count(*) AS segments, sum(segment.total_bytes)::BIGINT AS reserved_bytes,
  sum(segment.live_bytes)::BIGINT AS live_bytes,
  sum(segment.live_blocks)::BIGINT AS live_blocks, sum(segment.pending_bytes)::BIGINT AS pending_bytes,
  sum(segment.total_bytes - segment.live_bytes)::BIGINT AS free_bytes, nullif(max(segment.largest_free_bytes), 0) AS largest_free_bytes,
  min(segment.address) AS first_address
FROM segment_sums_at(snapshot_key, device_no, at_seq) AS segment
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = snapshot_key AND pool.pool = segment.pool
GROUP BY segment.pool, pool.pool_id_a, pool.pool_id_b, segment.segment_type, segment.stream, segment.is_expandable

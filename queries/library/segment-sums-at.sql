-- @name   library.segment_sums_at
-- @kind   macro
-- @title  What each segment of a device holds after one entry of its trace
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    address       UBIGINT
-- @col    total_bytes   BIGINT
-- @col    stream        BIGINT?
-- @col    segment_type  ENUM
-- @col    pool          INTEGER?
-- @col    is_expandable UTINYINT
-- @col    live_blocks   BIGINT   active blocks
-- @col    live_bytes    BIGINT   their actual sizes
-- @col    pending_bytes BIGINT   of it freed, and still used by a stream
-- @col    free_blocks   BIGINT
-- @col    largest_free_bytes BIGINT
-- @col    free_squares  DOUBLE   sum of the squares of their bytes
-- @col    releasable_bytes BIGINT  what a flush would give back to the driver
-- @why    The sums of a pool, a stream or a class of sizes are sums of these rows. What is not live in a segment is free.
SELECT
  segment_address AS address, segment_bytes AS total_bytes, stream, segment_type, pool, is_expandable, count(block) AS live_blocks,
  sum(bytes)::BIGINT AS live_bytes, coalesce(sum(bytes) FILTER (is_pending), 0)::BIGINT AS pending_bytes,
  count(*) FILTER (free_bytes > 0) AS free_blocks, max(free_bytes) AS largest_free_bytes,
  sum(free_bytes::HUGEINT * free_bytes)::DOUBLE AS free_squares, sum(releasable_bytes)::BIGINT AS releasable_bytes
FROM layout_at(snapshot_key, device_no, at_seq) AS layout
GROUP BY segment_address, segment_bytes, stream, segment_type, pool, is_expandable

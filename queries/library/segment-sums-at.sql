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
--         A flush gives back a wholly free cudaMalloc segment, and whole units of a free range of an expandable one. Private pools give
--         nothing back while a graph or handle refers to them, which no snapshot shows. The units of a reservation are counted from the
--         start of its mapped run; a run whose head was unmapped may be off by part of a unit.
WITH part AS (
  SELECT layout.segment_address, layout.block, layout.bytes, layout.is_pending, layout.free_bytes,
    layout.address - layout.segment_address + layout.bytes AS from_byte,
    CASE WHEN segment.segment_type = 'small' THEN 2097152 ELSE history.large_segment_bytes END AS unit, segment.is_expandable,
    segment.total_bytes, (pool.pool_id_a <> 0 OR pool.pool_id_b <> 0) IS TRUE AS is_private, segment.segment_type, segment.stream,
    segment.pool
  FROM layout_at(snapshot_key, device_no, at_seq) AS layout
  JOIN segments_at(snapshot_key, device_no, at_seq) AS segment ON segment.address = layout.segment_address
  JOIN derived_history AS history ON history.snapshot_id = snapshot_key AND history.device = device_no
  LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = snapshot_key AND pool.pool = segment.pool)
SELECT
  segment_address AS address, total_bytes, stream, segment_type, pool, is_expandable, count(block) AS live_blocks,
  sum(bytes)::BIGINT AS live_bytes, coalesce(sum(bytes) FILTER (is_pending), 0)::BIGINT AS pending_bytes,
  count(*) FILTER (free_bytes > 0) AS free_blocks, max(free_bytes) AS largest_free_bytes,
  sum(free_bytes::HUGEINT * free_bytes)::DOUBLE AS free_squares,
  sum(CASE
    WHEN is_private THEN 0
    WHEN is_expandable = 0 THEN CASE WHEN free_bytes = total_bytes THEN free_bytes ELSE 0 END
    ELSE greatest(0, (from_byte + free_bytes) // unit * unit - (from_byte + unit - 1) // unit * unit) END)::BIGINT AS releasable_bytes
FROM part
GROUP BY segment_address, total_bytes, stream, segment_type, pool, is_expandable

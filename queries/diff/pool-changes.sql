-- @name   diff.pool_changes
-- @title  Reserved and live memory of two sides by pool, class of size and kind of stream, the largest change first
-- @param  left_side  VARCHAR  of side_pool
-- @param  right_side VARCHAR
-- @col    pool                 VARCHAR
-- @col    segment_type         VARCHAR
-- @col    side_stream          BOOLEAN
-- @col    a_reserved_bytes     BIGINT
-- @col    b_reserved_bytes     BIGINT
-- @col    delta_reserved_bytes BIGINT
-- @col    a_active_bytes       BIGINT
-- @col    b_active_bytes       BIGINT
-- @col    delta_active_bytes   BIGINT
-- @col    a_segments           BIGINT
-- @col    b_segments           BIGINT
-- @why    Pools that stayed are listed too. Those of equal change are in the order of their addresses.
WITH pool AS (
  SELECT pool, segment_type, is_side_stream,
    coalesce(sum(reserved_bytes) FILTER (side = $left_side), 0)::BIGINT AS a_reserved,
    coalesce(sum(reserved_bytes) FILTER (side = $right_side), 0)::BIGINT AS b_reserved,
    coalesce(sum(active_bytes) FILTER (side = $left_side), 0)::BIGINT AS a_active,
    coalesce(sum(active_bytes) FILTER (side = $right_side), 0)::BIGINT AS b_active,
    coalesce(sum(segments) FILTER (side = $left_side), 0)::BIGINT AS a_segments,
    coalesce(sum(segments) FILTER (side = $right_side), 0)::BIGINT AS b_segments,
    min(first_address) FILTER (side = $left_side) AS a_address, min(first_address) AS address
  FROM side_pool
  GROUP BY pool, segment_type, is_side_stream)
SELECT pool, segment_type, is_side_stream AS side_stream, a_reserved AS a_reserved_bytes, b_reserved AS b_reserved_bytes,
  b_reserved - a_reserved AS delta_reserved_bytes, a_active AS a_active_bytes, b_active AS b_active_bytes,
  b_active - a_active AS delta_active_bytes, a_segments, b_segments
FROM pool
ORDER BY abs(b_reserved - a_reserved) DESC, abs(b_active - a_active) DESC, a_address NULLS LAST, address

-- @name   diff.pools
-- @title  Reserved and live memory of a device after one entry of its trace, by pool, class of size and kind of stream
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    pool_id_a      BIGINT?  (0, 0) is the default pool, and what no source names; NULL: unknown
-- @col    pool_id_b      BIGINT?
-- @col    segment_type   VARCHAR
-- @col    is_side_stream BOOLEAN
-- @col    reserved_bytes BIGINT
-- @col    active_bytes   BIGINT
-- @col    segments       BIGINT
-- @why    Handles of side streams are addresses: two processes never agree on them.
SELECT
  CASE WHEN part.pool IS NULL THEN 0 ELSE pool.pool_id_a END AS pool_id_a,
  CASE WHEN part.pool IS NULL THEN 0 ELSE pool.pool_id_b END AS pool_id_b, part.segment_type::VARCHAR AS segment_type,
  (part.stream > 0) IS TRUE AS is_side_stream, sum(part.reserved_bytes)::BIGINT AS reserved_bytes,
  sum(part.live_bytes)::BIGINT AS active_bytes, sum(part.segments)::BIGINT AS segments
FROM pools_at($snapshot_id, $device, $at_seq) AS part
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = $snapshot_id AND pool.pool = part.pool
GROUP BY 1, 2, 3, 4
ORDER BY min(part.first_address)

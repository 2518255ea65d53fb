-- @name   library.named_pools_at
-- @kind   macro
-- @title  Reserved and live memory of a device after one entry of its trace, by name of pool, class of size and kind of stream
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    pool           VARCHAR  default (also of what no source names), graph pool 3, memory pool 1, unknown
-- @col    segment_type   VARCHAR  small or large
-- @col    is_side_stream BOOLEAN
-- @col    reserved_bytes BIGINT
-- @col    active_bytes   BIGINT
-- @col    segments       BIGINT
-- @col    first_address  UBIGINT  lowest of its segments
-- @why    pools_at without what differs between two processes: handles of streams are addresses.
SELECT
  CASE WHEN part.pool IS NULL THEN 'default' ELSE coalesce(pool.name, 'unknown') END AS pool,
  CASE WHEN part.segment_type = 'small' THEN 'small' ELSE 'large' END AS segment_type,
  (part.stream > 0) IS TRUE AS is_side_stream, sum(part.reserved_bytes)::BIGINT AS reserved_bytes,
  sum(part.live_bytes)::BIGINT AS active_bytes, sum(part.segments)::BIGINT AS segments, min(part.first_address) AS first_address
FROM pools_at(snapshot_key, device_no, at_seq) AS part
LEFT JOIN pool_name AS pool ON pool.snapshot_id = snapshot_key AND pool.pool = part.pool
GROUP BY 1, 2, 3

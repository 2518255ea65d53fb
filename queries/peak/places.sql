-- @name   peak.places
-- @title  Live memory of a device after one entry of its trace, by pool, kind and stream of the segment, and lifetime
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    pool_id_a     BIGINT?
-- @col    pool_id_b     BIGINT?
-- @col    segment_type  VARCHAR
-- @col    is_expandable BOOLEAN
-- @col    stream        BIGINT?
-- @col    lifetime     VARCHAR? resident, transient or unknown; see lifetimes_at
-- @col    bytes        BIGINT
-- @col    count        BIGINT
-- @why    A block is in the pool and the stream of its segment.
WITH segment AS (SELECT address, pool, segment_type, is_expandable, stream FROM segments_at($snapshot_id, $device, $at_seq)),
live AS (SELECT address, actual_bytes, lifetime FROM lifetimes_at($snapshot_id, $device, $at_seq))
SELECT
  CASE WHEN segment.pool IS NULL THEN 0 ELSE pool.pool_id_a END AS pool_id_a,
  CASE WHEN segment.pool IS NULL THEN 0 ELSE pool.pool_id_b END AS pool_id_b, segment.segment_type::VARCHAR AS segment_type,
  segment.is_expandable = 1 AS is_expandable, segment.stream, live.lifetime, sum(live.actual_bytes)::BIGINT AS bytes, count(*) AS count
FROM live ASOF JOIN segment ON live.address >= segment.address
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = $snapshot_id AND pool.pool = segment.pool
GROUP BY ALL
ORDER BY ALL

-- @name   snapshot.pools
-- @title  Segments of the final state by pool, size class, stream and kind
-- @param  snapshot_id INTEGER
-- @col    device         INTEGER
-- @col    pool_id_a      BIGINT?
-- @col    pool_id_b      BIGINT?
-- @col    segment_type   VARCHAR
-- @col    stream         BIGINT?
-- @col    is_expandable  UTINYINT?
-- @col    segments       BIGINT
-- @col    reserved_bytes BIGINT
-- @col    active_bytes   BIGINT   allocated and pending free
-- @why    Memory never moves between these: free memory of one is not available to the others.
WITH active AS (
  SELECT segment, sum(size_bytes)::BIGINT AS bytes
  FROM block
  WHERE snapshot_id = $snapshot_id AND state <> 'inactive'
  GROUP BY segment
)
SELECT
  segment.device, pool.pool_id_a, pool.pool_id_b, segment.segment_type::VARCHAR AS segment_type, segment.stream, segment.is_expandable,
  count(*) AS segments, sum(segment.total_bytes)::BIGINT AS reserved_bytes, coalesce(sum(active.bytes), 0)::BIGINT AS active_bytes
FROM segment
LEFT JOIN active ON active.segment = segment.segment
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = segment.snapshot_id AND pool.pool = segment.pool
WHERE segment.snapshot_id = $snapshot_id
GROUP BY ALL
ORDER BY device, pool_id_a NULLS FIRST, pool_id_b, segment_type, stream NULLS FIRST, is_expandable

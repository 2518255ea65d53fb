-- @name   export.live_samples
-- @title  Live memory of a device after one entry of its trace, by stack, state and place, and the free blocks between it
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  with_holes BOOLEAN     adds the free blocks
-- @param  with_segments BOOLEAN  distinguishes segments
-- @col    stack_id     INTEGER?
-- @col    origin       VARCHAR   free_event: only the stack of the free is known; hole: a free block
-- @col    state        VARCHAR   active_allocated, active_pending_free or inactive
-- @col    stream       BIGINT?
-- @col    pool_id_a    BIGINT?   (0, 0) is the default pool, and what no source names; NULL: unknown
-- @col    pool_id_b    BIGINT?
-- @col    segment_type VARCHAR
-- @col    segment      UBIGINT?
-- @col    bytes        BIGINT
-- @col    blocks       BIGINT
-- @why    Encoders of profiles number stacks as they meet them: in order of address, free blocks last.
WITH segment AS (SELECT address, stream, pool, segment_type FROM segments_at($snapshot_id, $device, $at_seq)),
live AS (SELECT address, stack_id, stack_origin, state, actual_bytes FROM live_at($snapshot_id, $device, $at_seq)),
part AS (
  SELECT live.address, live.stack_id, live.stack_origin::VARCHAR AS origin, live.state, live.actual_bytes AS bytes,
    segment.address AS segment, segment.stream, segment.pool, segment.segment_type
  FROM live ASOF JOIN segment ON live.address >= segment.address
  UNION ALL
  SELECT address, NULL, 'hole', 'inactive', bytes, segment_address, stream, pool, segment_type
  FROM free_at($snapshot_id, $device, $at_seq) AS hole
  WHERE $with_holes)
SELECT
  part.stack_id, part.origin, part.state, part.stream, CASE WHEN part.pool IS NULL THEN 0 ELSE pool.pool_id_a END AS pool_id_a,
  CASE WHEN part.pool IS NULL THEN 0 ELSE pool.pool_id_b END AS pool_id_b, part.segment_type::VARCHAR AS segment_type,
  CASE WHEN $with_segments THEN part.segment END AS segment, sum(part.bytes)::BIGINT AS bytes, count(*) AS blocks
FROM part
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = $snapshot_id AND pool.pool = part.pool
GROUP BY part.stack_id, part.origin, part.state, part.stream, 5, 6, part.segment_type, 8
ORDER BY part.origin = 'hole', min(part.address)

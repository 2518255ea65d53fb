-- @name   verdict.pinning_sites
-- @title  Call sites whose live blocks keep partly free segments of the default pool from going back to the driver
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    site      VARCHAR? NULL: a stack without frames, or no stack
-- @col    has_stack BOOLEAN
-- @col    segments  BIGINT   partly free segments that it has live blocks in
-- @col    bytes     BIGINT   actual sizes there
-- @why    The same code pins the segments of all ranks, or one rank is different.
WITH segment AS (
  SELECT extent.address, extent.total_bytes, (pool.pool_id_a <> 0 OR pool.pool_id_b <> 0) IS TRUE AS is_private
  FROM segments_at($snapshot_id, $device, $at_seq) AS extent
  LEFT JOIN (SELECT * FROM snapshot_pool WHERE snapshot_id = $snapshot_id) AS pool ON pool.pool = extent.pool),
placed AS (
  SELECT live.stack_id, live.actual_bytes, segment.address AS segment_address, segment.total_bytes, segment.is_private,
    sum(live.actual_bytes) OVER (PARTITION BY segment.address) AS live_bytes
  FROM live_at($snapshot_id, $device, $at_seq) AS live
  ASOF JOIN segment ON live.address >= segment.address)
SELECT nullif(stack.site, '') AS site, placed.stack_id IS NOT NULL AS has_stack, count(DISTINCT placed.segment_address) AS segments,
  sum(placed.actual_bytes)::BIGINT AS bytes
FROM placed
LEFT JOIN stack ON stack.stack_id = placed.stack_id
WHERE NOT placed.is_private AND placed.live_bytes < placed.total_bytes
GROUP BY nullif(stack.site, ''), placed.stack_id IS NOT NULL
ORDER BY segments DESC, bytes DESC, site NULLS FIRST, has_stack DESC

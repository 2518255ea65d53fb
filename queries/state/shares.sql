-- @name   state.shares
-- @title  Reserved memory of a device after one entry of its trace: by pool, by stream, and by both
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @uses   _state.segments
-- @col    part          VARCHAR  device; pool: by pool, class of size and kind; stream: by stream; group: by pool, class of size and stream
-- @col    pool_id_a     BIGINT?
-- @col    pool_id_b     BIGINT?
-- @col    segment_type  VARCHAR?
-- @col    is_expandable BOOLEAN?
-- @col    stream        BIGINT?
-- @col    segments      BIGINT
-- @col    reserved_bytes BIGINT
-- @col    active_bytes  BIGINT
-- @col    pending_bytes BIGINT
-- @col    inactive_bytes BIGINT
-- @col    largest_hole_bytes BIGINT
-- @col    holes         BIGINT   free blocks
-- @col    hole_squares  DOUBLE   sum of the squares of their bytes
-- @col    releasable_bytes BIGINT  what a flush would give back to the driver
-- @why    Free memory of one part cannot serve a request of another. The rows of each kind of part add up to the device.
SELECT
  CASE grouping(stream, segment_type) WHEN 3 THEN 'device' WHEN 2 THEN 'pool' WHEN 1 THEN 'stream' ELSE 'group' END AS part,
  pool_id_a, pool_id_b, segment_type, is_expandable, stream, count(*) AS segments, sum(total_bytes)::BIGINT AS reserved_bytes,
  sum(active_bytes)::BIGINT AS active_bytes, sum(pending_bytes)::BIGINT AS pending_bytes,
  sum(total_bytes - active_bytes)::BIGINT AS inactive_bytes, max(largest_hole_bytes) AS largest_hole_bytes,
  sum(holes)::BIGINT AS holes, sum(hole_squares) AS hole_squares, sum(releasable_bytes)::BIGINT AS releasable_bytes
FROM segments
GROUP BY GROUPING SETS (
  (), (pool_id_a, pool_id_b, segment_type, is_expandable), (stream), (pool_id_a, pool_id_b, segment_type, stream))
HAVING count(*) > 0
ORDER BY part, reserved_bytes DESC, min(address)

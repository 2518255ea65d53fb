-- @name   peak.hole_squares
-- @title  The fragmentation index of memory_viz after one entry of a trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    fragmentation_index DOUBLE?  0 = all in use, 1 = one wholly free segment; NULL: no segments
-- @why    Sum of the squares of the free blocks over the square of the reserve.
SELECT
  (SELECT coalesce(sum(bytes::HUGEINT * bytes), 0)::DOUBLE FROM free_at($snapshot_id, $device, $at_seq))
    / nullif((SELECT sum(total_bytes)::DOUBLE ** 2 FROM segments_at($snapshot_id, $device, $at_seq)), 0) AS fragmentation_index
LIMIT 1

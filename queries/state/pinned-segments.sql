-- @name   state.pinned_segments
-- @title  Segments with free memory that live blocks keep from the driver, most kept bytes first
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  count  INTEGER  at most so many
-- @uses   _state.segments
-- @col    address       UBIGINT
-- @col    total_bytes   BIGINT
-- @col    is_expandable BOOLEAN
-- @col    blocks        BIGINT   live ones
-- @col    active_bytes  BIGINT
-- @col    inactive_bytes BIGINT
-- @col    largest_hole_bytes BIGINT
-- @col    releasable_bytes BIGINT  what a flush would give back all the same
-- @col    all_segments  BIGINT   such segments in all
-- @col    all_inactive_bytes BIGINT
-- @why    A flush does not help where a small block holds a large segment.
SELECT
  address, total_bytes, is_expandable, blocks, active_bytes, total_bytes - active_bytes AS inactive_bytes, largest_hole_bytes,
  releasable_bytes, count(*) OVER () AS all_segments, (sum(total_bytes - active_bytes) OVER ())::BIGINT AS all_inactive_bytes
FROM segments
WHERE active_bytes > 0 AND total_bytes - active_bytes > releasable_bytes
ORDER BY total_bytes - active_bytes - releasable_bytes DESC, address
LIMIT $count

-- @name   state.largest_segments
-- @title  The largest segments of a device after one entry of its trace, by pool, class of size and stream
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  count  INTEGER  at most so many of each
-- @uses   _state.segments
-- @col    address       UBIGINT
-- @col    total_bytes   BIGINT
-- @col    pool_id_a     BIGINT?
-- @col    pool_id_b     BIGINT?
-- @col    segment_type  VARCHAR
-- @col    stream        BIGINT?
-- @col    is_expandable BOOLEAN
-- @col    blocks        BIGINT   live ones
-- @col    active_bytes  BIGINT
-- @col    pending_bytes BIGINT
-- @col    holes         BIGINT   free blocks
-- @col    largest_hole_bytes BIGINT
-- @why    As the segment summary of memory_viz lists them: by size, then by what is in use; the largest first, because they decide.
SELECT
  address, total_bytes, pool_id_a, pool_id_b, segment_type, stream, is_expandable, blocks, active_bytes, pending_bytes, holes,
  largest_hole_bytes
FROM segments
WINDOW each AS (PARTITION BY pool_id_a, pool_id_b, segment_type, stream ORDER BY total_bytes DESC, active_bytes DESC, address)
QUALIFY row_number() OVER each <= $count
ORDER BY total_bytes DESC, active_bytes DESC, address

-- @name   history.start_segments
-- @title  Segments of one device before the first entry of its trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    address       UBIGINT
-- @col    total_bytes   BIGINT
-- @col    stream        BIGINT?
-- @col    segment_type  ENUM      code as in SEGMENT_TYPES
-- @col    pool          INTEGER?
-- @col    is_expandable UTINYINT
-- @col    is_inferred   UTINYINT
-- @why    Where the walk forward begins.
SELECT address, total_bytes, stream, segment_type, pool, is_expandable, is_inferred
FROM derived_start_segment
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY address

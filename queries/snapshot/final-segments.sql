-- @name   snapshot.final_segments
-- @title  Segments of one device at the dump
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    address       UBIGINT
-- @col    total_bytes   BIGINT
-- @col    stream        BIGINT?
-- @col    segment_type  VARCHAR
-- @col    pool          INTEGER?
-- @col    is_expandable UTINYINT?
-- @why    Where the walk back begins.
SELECT address, total_bytes, stream, segment_type::VARCHAR AS segment_type, pool, is_expandable
FROM segment
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY segment

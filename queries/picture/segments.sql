-- @name   picture.segments
-- @title  Segments of a device, or mapped runs of expandable ones, with the entries at which they begin and end
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    from_seq      INTEGER  -1 = before the trace
-- @col    to_seq        INTEGER  2147483647 = not in the trace
-- @col    address       UBIGINT
-- @col    total_bytes   BIGINT
-- @col    stream        BIGINT?
-- @col    is_small      BOOLEAN
-- @col    pool          INTEGER?
-- @col    is_expandable UTINYINT
-- @why    What is reserved, and where.
SELECT from_seq, to_seq, address, total_bytes, stream, segment_type = 'small' AS is_small, pool, is_expandable
FROM segment_life
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY from_seq, address

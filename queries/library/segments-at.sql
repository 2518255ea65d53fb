-- @name   library.segments_at
-- @kind   macro
-- @title  Segments after one entry of a trace, expandable ones as their mapped runs
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    address       UBIGINT
-- @col    total_bytes   BIGINT
-- @col    stream        BIGINT?
-- @col    segment_type  ENUM
-- @col    pool          INTEGER?
-- @col    is_expandable UTINYINT
-- @col    is_inferred   UTINYINT  1: type or pool follow from sizes and neighbours
-- @why    A run that grows or shrinks ends and begins in segment_life, so the state at any moment is a filter.
SELECT address, total_bytes, stream, segment_type, pool, is_expandable, is_inferred
FROM segment_life
WHERE snapshot_id = snapshot_key AND device = device_no AND from_seq <= at_seq AND to_seq > at_seq

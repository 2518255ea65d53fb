-- @name   picture.lives
-- @title  When each block of a device was live, its size and its label, in no order
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    from_seq     INTEGER  -1 = before the trace
-- @col    to_seq       INTEGER  2147483647 = not in the trace
-- @col    pending_seq  INTEGER  free request; 2147483647 = none
-- @col    actual_bytes BIGINT
-- @col    pool         INTEGER?
-- @col    label        INTEGER? row of the table label
-- @why    The course by component is one pass over all blocks.
SELECT from_seq, to_seq, pending_seq, actual_bytes, pool, label
FROM block_life
WHERE snapshot_id = $snapshot_id AND device = $device

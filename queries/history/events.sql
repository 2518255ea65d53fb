-- @name   history.events
-- @title  Trace entries of one device from one entry to before another, in no order
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  from_seq INTEGER  first
-- @param  to_seq   INTEGER  one past the last
-- @col    seq        INTEGER
-- @col    action     ENUM     code as in the ENUM trace_action
-- @col    addr       UBIGINT?
-- @col    size_bytes BIGINT   requested on alloc and free, segment bytes on segment entries
-- @col    stream     BIGINT?
-- @col    stack_id   INTEGER?
-- @why    What a walk needs and no more: a column of NULLs costs as much as all of these. Rows come in no
--         order; sorting them would cost more than to put them in their places, since seq is dense.
SELECT seq, action, addr, size_bytes, stream, stack_id
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq >= $from_seq AND seq < $to_seq

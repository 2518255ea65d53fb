-- @name   history.entry
-- @title  One entry of a trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  seq    INTEGER
-- @col    action     VARCHAR
-- @col    addr       UBIGINT?
-- @col    size_bytes BIGINT
-- @col    time_us    BIGINT?
-- @col    stack_id   INTEGER?
-- @why    A moment is shown with what happened at it.
SELECT action::VARCHAR AS action, addr, size_bytes, time_us, stack_id
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq = $seq
LIMIT 1

-- @name   peak.replay
-- @title  Allocations and completed frees of one device, in order
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    seq        INTEGER
-- @col    action     ENUM     code as in TRACE_ACTIONS
-- @col    addr       UBIGINT?
-- @col    size_bytes BIGINT   requested
-- @col    time_us    BIGINT?
-- @col    stack_id   INTEGER?
-- @why    The peers replay these two actions only, forwards and from zero.
SELECT seq, action, addr, size_bytes, time_us, stack_id
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND action IN ('alloc', 'free_completed')
ORDER BY seq

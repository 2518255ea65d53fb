-- @name   history.whole_events
-- @title  All trace entries of one device
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    seq                INTEGER
-- @col    action             ENUM      code as in TRACE_ACTIONS
-- @col    addr               UBIGINT?
-- @col    size_bytes         BIGINT
-- @col    stream             BIGINT?
-- @col    time_us            BIGINT?
-- @col    pool               INTEGER?
-- @col    stack_id           INTEGER?
-- @col    compile_context_id INTEGER?
-- @col    user_metadata_id   INTEGER?
-- @why    What lifetimes are derived from again when the rules have changed.
SELECT seq, action, addr, size_bytes, stream, time_us, pool, stack_id, compile_context_id, user_metadata_id
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY seq

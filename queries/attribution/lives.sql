-- @name   attribution.lives
-- @title  Lifetimes of all blocks of a device, in no order
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    block           INTEGER  number: those from before the trace by address, then the allocations in order
-- @col    from_seq        INTEGER  -1 = before the trace
-- @col    to_seq          INTEGER  2147483647 = not in the trace
-- @col    actual_bytes    BIGINT
-- @col    requested_bytes BIGINT?
-- @col    pool            INTEGER?
-- @col    stack_id        INTEGER?
-- @col    stack_origin    ENUM     code as in STACK_ORIGINS
-- @why    Inference by size, order and lifetime goes over all blocks; sorting millions of rows would cost more than it does.
SELECT block, from_seq, to_seq, actual_bytes, requested_bytes, pool, stack_id, stack_origin
FROM block_life
WHERE snapshot_id = $snapshot_id AND device = $device

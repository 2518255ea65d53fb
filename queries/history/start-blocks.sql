-- @name   history.start_blocks
-- @title  Blocks of one device that were live before the first entry of its trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    address         UBIGINT
-- @col    size_bytes      BIGINT
-- @col    least_bytes     BIGINT
-- @col    most_bytes      BIGINT
-- @col    requested_bytes BIGINT?
-- @col    state           ENUM      code as in BLOCK_STATES
-- @col    stack_id        INTEGER?
-- @col    stack_origin    ENUM      code as in STACK_ORIGINS
-- @why    Where the walk forward begins.
SELECT address, size_bytes, least_bytes, most_bytes, requested_bytes, state, stack_id, stack_origin
FROM derived_start_block
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY address

-- @name   state.blocks_at
-- @title  Live blocks of a device after one entry of its trace, by address
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    address         UBIGINT
-- @col    actual_bytes    BIGINT
-- @col    least_bytes     BIGINT
-- @col    most_bytes      BIGINT
-- @col    requested_bytes BIGINT?
-- @col    is_pending      UTINYINT
-- @col    alloc_seq       INTEGER?
-- @col    stack_id        INTEGER?
-- @col    stack_origin    ENUM     code as in STACK_ORIGINS
-- @col    block           INTEGER
-- @why    The state at a moment, as columns for code that goes over the blocks in order of address.
SELECT
  live.address, live.actual_bytes, live.least_bytes, live.most_bytes, live.requested_bytes,
  (live.state = 'active_pending_free')::UTINYINT AS is_pending, live.alloc_seq, live.stack_id, live.stack_origin, live.block
FROM live_at($snapshot_id, $device, $at_seq) AS live
ORDER BY live.address

-- @name   state.blocks_at
-- @title  Live blocks of a device after one entry of its trace, by address
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @of     live_at: address actual_bytes least_bytes most_bytes requested_bytes alloc_seq stack_id stack_origin block
-- @col    is_pending      UTINYINT
-- @why    The state at a moment, as columns for code that goes over the blocks in order of address.
SELECT
  live.address, live.actual_bytes, live.least_bytes, live.most_bytes, live.requested_bytes,
  (live.state = 'active_pending_free')::UTINYINT AS is_pending, live.alloc_seq, live.stack_id, live.stack_origin, live.block
FROM live_at($snapshot_id, $device, $at_seq) AS live
ORDER BY live.address

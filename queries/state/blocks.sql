-- @name   state.blocks
-- @title  Live blocks of a device after one entry of its trace, by address
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    address      UBIGINT
-- @col    actual_bytes BIGINT
-- @col    is_pending   BOOLEAN
-- @why    What is drawn cell by cell.
SELECT address, actual_bytes, state = 'active_pending_free' AS is_pending
FROM live_at($snapshot_id, $device, $at_seq)
ORDER BY address

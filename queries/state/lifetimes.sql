-- @name   state.lifetimes
-- @title  Whether the blocks that are live after one entry of a trace outlive their step, by address
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    is_resident BOOLEAN
-- @why    For code that goes over the blocks in order of address.
SELECT lifetime IS NOT DISTINCT FROM 'resident' AS is_resident
FROM lifetimes_at($snapshot_id, $device, $at_seq)
ORDER BY address

-- @name   diff.live_stacks
-- @title  Live memory of a device after one entry of its trace, by stack, component and size of the blocks
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @of     live_stacks_at: stack_id kind site is_allocated_there component size_bytes bytes blocks
-- @why    Rows come in order of the first address of the stack, then of the size: equal stacks are matched in this order.
SELECT stack_id, kind, site, is_allocated_there, component, size_bytes, bytes, blocks
FROM live_stacks_at($snapshot_id, $device, $at_seq) AS live
ORDER BY min(first_address) OVER (PARTITION BY stack_id, kind), first_address

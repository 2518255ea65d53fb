-- @name   attribution.lives
-- @title  Lifetimes of all blocks of a device, in no order
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @of     block_life: block from_seq to_seq actual_bytes requested_bytes pool stack_id stack_origin
-- @why    Inference by size, order and lifetime goes over all blocks; sorting millions of rows would cost more than it does.
SELECT block, from_seq, to_seq, actual_bytes, requested_bytes, pool, stack_id, stack_origin
FROM block_life
WHERE snapshot_id = $snapshot_id AND device = $device

-- @name   diff.pools
-- @title  Reserved and live memory of a device after one entry of its trace, by pool, class of size and kind of stream
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @of     named_pools_at
-- @why    The pools of one side of a comparison.
SELECT pool, segment_type, is_side_stream, reserved_bytes, active_bytes, segments, first_address
FROM named_pools_at($snapshot_id, $device, $at_seq) AS part
ORDER BY first_address

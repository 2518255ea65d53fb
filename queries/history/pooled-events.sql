-- @name   history.pooled_events
-- @title  Trace entries of one device with their pools, in no order
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  from_seq INTEGER  first
-- @param  to_seq   INTEGER  one past the last
-- @of     event: seq action addr size_bytes stream pool stack_id
-- @why    Only torch 2.12 and newer write the pool on entries, and only runs with CUDA graphs or MemPools have another than the default
--         one. Rows come in no order.
SELECT seq, action, addr, size_bytes, stream, pool, stack_id
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq >= $from_seq AND seq < $to_seq

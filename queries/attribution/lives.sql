-- @name   attribution.lives
-- @title  Lifetimes of all blocks of some snapshots, in no order
-- @param  snapshot_ids VARCHAR  joined by commas
-- @of     block_life: snapshot_id device block from_seq actual_bytes requested_bytes pool stack_id stack_origin
-- @col    to_seq INTEGER  entry at which the program frees it; -1: before the first; 2147483647: not in the trace
-- @why    Inference by size, order and lifetime goes over all blocks; sorting millions of rows would cost more than it does.
SELECT snapshot_id, device, block, from_seq, actual_bytes, requested_bytes, pool, stack_id, stack_origin,
  least(to_seq, pending_seq) AS to_seq
FROM block_life
WHERE snapshot_id IN (SELECT unnest(string_split($snapshot_ids, ',')::INTEGER[]))

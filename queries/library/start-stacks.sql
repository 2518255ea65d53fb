-- @name   library.start_stacks
-- @kind   macro
-- @title  Stacks of blocks from before a trace that fill a segment with a stack
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @col    block    INTEGER
-- @col    stack_id INTEGER  of the request that the segment was made for
-- @why    No stack of such a block was recorded. The request takes all of its segment but the rounding: up to 2 MiB for large requests, or
--         most of a 20 MiB segment. A segment that the trace makes again at the address has another stack.
SELECT life.block, any_value(dumped.stack_id) AS stack_id
FROM block_life AS life
JOIN segment_life AS extent ON extent.snapshot_id = life.snapshot_id AND extent.device = life.device AND extent.address = life.address
JOIN segment AS dumped ON dumped.snapshot_id = life.snapshot_id AND dumped.device = life.device AND dumped.address = life.address
WHERE life.snapshot_id = snapshot_key AND life.device = device_no AND life.from_seq = -1 AND life.stack_id IS NULL
  AND extent.from_seq = -1 AND extent.is_expandable = 0 AND 10 * life.actual_bytes >= 9 * extent.total_bytes
  AND dumped.stack_id IS NOT NULL
  AND life.address NOT IN (
    SELECT addr FROM event
    WHERE snapshot_id = snapshot_key AND device = device_no AND action IN ('segment_alloc', 'segment_map') AND addr IS NOT NULL)
GROUP BY life.block

-- @name   attribution.start_stacks
-- @title  Stacks of blocks from before a trace that fill a segment with a stack
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    block    INTEGER
-- @col    stack_id INTEGER  of the request that the segment was made for
-- @why    Labels are made of them where a ring lost the allocation.
SELECT block, stack_id FROM start_stacks($snapshot_id, $device) AS start
ORDER BY block

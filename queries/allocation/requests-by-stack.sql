-- @name   allocation.requests_by_stack
-- @title  How many blocks each stack allocated that a trace has, dead ones included
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    stack_id INTEGER
-- @col    requests BIGINT
-- @why    What is recomputed is mostly dead at the peak. The stack of a free shows nothing of the allocation. Stacks are in the order in
--         which the trace first has them.
SELECT stack_id, count(*) AS requests
FROM block_life
WHERE snapshot_id = $snapshot_id AND device = $device AND stack_id IS NOT NULL
  AND (from_seq >= 0 OR stack_origin IS DISTINCT FROM 'free_event')
GROUP BY stack_id
ORDER BY min(block)

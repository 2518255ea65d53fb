-- @name   attribution.requests
-- @title  Blocks of a device by the stack of their allocation
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    stack_id INTEGER
-- @col    requests BIGINT
-- @why    What a program does shows in its stacks, whatever lives at the peak. The stack of a free is not that of an allocation.
SELECT coalesce(life.stack_id, start.stack_id) AS stack_id, count(*) AS requests
FROM block_life AS life
LEFT JOIN start_stacks($snapshot_id, $device) AS start ON start.block = life.block
WHERE life.snapshot_id = $snapshot_id AND life.device = $device AND coalesce(life.stack_id, start.stack_id) IS NOT NULL
  AND NOT (life.from_seq = -1 AND life.stack_origin = 'free_event')
GROUP BY ALL
ORDER BY min(life.block)

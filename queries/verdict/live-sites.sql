-- @name   verdict.live_sites
-- @title  The call sites with the most live memory after one entry of a trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  most   INTEGER  rows
-- @col    site      VARCHAR? NULL: a stack without frames, or no stack
-- @col    has_stack BOOLEAN
-- @col    is_substitute BOOLEAN  the site of the free; the allocation is outside the trace
-- @col    bytes     BIGINT   actual sizes
-- @why    The stack of a free only substitutes for an unrecorded allocation; adding both would blame the line that frees.
SELECT nullif(stack.site, '') AS site, live.stack_id IS NOT NULL AS has_stack, live.stack_origin = 'free_event' AS is_substitute,
  sum(live.actual_bytes)::BIGINT AS bytes
FROM live_at($snapshot_id, $device, $at_seq) AS live
LEFT JOIN stack ON stack.stack_id = live.stack_id
GROUP BY ALL
ORDER BY bytes DESC, site NULLS FIRST, has_stack DESC, is_substitute
LIMIT $most

-- @name   history.free_stacks
-- @title  Whether the frees of a trace carry the stacks of their allocations, from its first entries
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  before_seq INTEGER  entries looked at
-- @col    pairs     BIGINT  frees with a stack whose allocation is in the trace
-- @col    differing BIGINT  of these, with another stack than their allocation
-- @col    stacks    BIGINT  different stacks among them
-- @why    Unless recorded with context="all", torch gives a free the stack of the allocation: it shows where memory was allocated even if
--         the allocation is not in the trace.
SELECT
  count(*) AS pairs,
  count(*) FILTER (freed.stack_id <> made.stack_id) AS differing,
  count(DISTINCT freed.stack_id) AS stacks
FROM event AS freed
JOIN event AS made ON made.snapshot_id = freed.snapshot_id AND made.device = freed.device AND made.seq = freed.alloc_seq
WHERE freed.snapshot_id = $snapshot_id AND freed.device = $device AND freed.seq < $before_seq AND made.seq < $before_seq
  AND freed.action IN ('free_requested', 'free_completed')
  AND freed.stack_id IS NOT NULL AND made.stack_id IS NOT NULL
ORDER BY pairs

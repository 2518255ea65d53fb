-- @name   verdict.live_stacks
-- @title  Live memory after one entry of a trace, by stack
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  from_seq INTEGER the failing step begins
-- @col    stack_id   INTEGER?
-- @col    bytes      BIGINT   actual sizes
-- @col    step_bytes BIGINT   of blocks allocated in the failing step
-- @col    older_blocks BIGINT blocks from before the first entry
-- @why    What a stack was doing is found out once per stack, by its frames.
SELECT stack_id, sum(actual_bytes)::BIGINT AS bytes, coalesce(sum(actual_bytes) FILTER (alloc_seq >= $from_seq), 0)::BIGINT AS step_bytes,
  count(*) FILTER (alloc_seq IS NULL) AS older_blocks
FROM live_at($snapshot_id, $device, $at_seq) AS live
GROUP BY stack_id
ORDER BY stack_id

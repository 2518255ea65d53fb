-- @name   library.stacks_at
-- @kind   macro
-- @title  Live memory after one entry of a trace, by stack
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    stack_id     INTEGER?  NULL: no stack was recorded
-- @col    stack_origin VARCHAR   free_event: the stack of the free, where the allocation is outside the trace; none: no stack
-- @col    site         VARCHAR?  function and file:line; NULL: no stack, or one without frames
-- @col    bytes        BIGINT   actual sizes
-- @col    blocks       BIGINT
-- @col    requested_bytes BIGINT?  where they were recorded
-- @why    The rows are as many as there are stacks, not as there are blocks. Names are joined to the sums.
WITH stack_sum AS (
  SELECT live.stack_id, live.stack_origin, sum(live.actual_bytes)::BIGINT AS bytes, count(*) AS blocks,
    sum(live.requested_bytes)::BIGINT AS requested
  FROM live_at(snapshot_key, device_no, at_seq) AS live
  GROUP BY live.stack_id, live.stack_origin)
SELECT
  stack_sum.stack_id, stack_sum.stack_origin::VARCHAR AS stack_origin, nullif(stack.site, '') AS site, stack_sum.bytes, stack_sum.blocks,
  stack_sum.requested AS requested_bytes
FROM stack_sum
LEFT JOIN stack ON stack.stack_id = stack_sum.stack_id

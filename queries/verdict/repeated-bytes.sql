-- @name   verdict.repeated_bytes
-- @title  Live memory of call sites with several live blocks, after one entry of a trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    bytes BIGINT  actual sizes
-- @why    A site that keeps something of each step has several live blocks. Blocks without frames could be of any one site, so they
--         count as one.
WITH site AS (
  SELECT sum(live.actual_bytes) AS bytes
  FROM live_at($snapshot_id, $device, $at_seq) AS live
  LEFT JOIN stack ON stack.stack_id = live.stack_id
  GROUP BY live.stack_id IS NULL, coalesce(stack.site, '')
  HAVING count(*) >= (SELECT fewest_repeated_blocks FROM cause_threshold))
SELECT coalesce(sum(bytes), 0)::BIGINT AS bytes FROM site LIMIT 1

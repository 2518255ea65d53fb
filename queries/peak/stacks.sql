-- @name   peak.stacks
-- @title  Live memory of a device after one entry of its trace, by stack and lifetime, in order of the first address
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    stack_id     INTEGER?
-- @col    origin       VARCHAR  free_event: only the stack of the free is known
-- @col    before_trace BOOLEAN  allocated before the first entry
-- @col    site         VARCHAR? NULL: no stack, or one without frames
-- @col    lifetime     VARCHAR? resident, transient or unknown; see lifetimes_at
-- @col    bytes        BIGINT
-- @col    count        BIGINT
-- @why    Sites and modules follow from the stacks, which are few.
WITH live AS (
  SELECT stack_id, stack_origin, alloc_seq IS NULL AS before_trace, lifetime, sum(actual_bytes)::BIGINT AS bytes, count(*) AS count,
    min(address) AS address
  FROM lifetimes_at($snapshot_id, $device, $at_seq)
  GROUP BY ALL)
SELECT
  live.stack_id, live.stack_origin::VARCHAR AS origin, live.before_trace, nullif(stack.site, '') AS site, live.lifetime, live.bytes,
  live.count
FROM live
LEFT JOIN stack ON stack.stack_id = live.stack_id
ORDER BY live.address

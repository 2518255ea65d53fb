-- @name   snapshot.site_growth
-- @title  Call sites that hold more, or less, allocated memory at one dump than at an earlier one
-- @param  earlier INTEGER  snapshot_id
-- @param  later   INTEGER
-- @param  device  INTEGER
-- @col    site       VARCHAR? NULL: no stack, or one without frames
-- @col    has_stack  BOOLEAN  false: allocated before the recording
-- @col    bytes      BIGINT   actual block sizes at the later dump less those at the earlier one
-- @col    blocks     BIGINT
-- @col    last_bytes BIGINT   at the later dump
-- @why    Stacks are interned over the whole store, so that two dumps can be compared.
SELECT nullif(stack.site, '') AS site, block.stack_id IS NOT NULL AS has_stack,
  sum(CASE WHEN snapshot_id = $later THEN size_bytes ELSE -size_bytes END)::BIGINT AS bytes,
  sum(CASE WHEN snapshot_id = $later THEN 1 ELSE -1 END)::BIGINT AS blocks,
  coalesce(sum(size_bytes) FILTER (snapshot_id = $later), 0)::BIGINT AS last_bytes
FROM block LEFT JOIN stack USING (stack_id)
WHERE snapshot_id IN ($earlier, $later) AND device = $device AND state = 'active_allocated'
GROUP BY ALL
HAVING bytes <> 0 OR blocks <> 0
ORDER BY bytes DESC, site NULLS FIRST, has_stack

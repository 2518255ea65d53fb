-- @name   state.sites
-- @title  Live memory of a device after one entry of its trace, by call site
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    site         VARCHAR? NULL: no stack, or one without frames
-- @col    has_stack    BOOLEAN
-- @col    is_freed     BOOLEAN  only the stack of the free is known
-- @col    bytes        BIGINT
-- @col    count        BIGINT
-- @why    Sites of frees are groups of their own: mixing both would blame the line that freed the memory.
SELECT site, has_stack, stack_origin = 'free_event' AS is_freed, sum(bytes)::BIGINT AS bytes, sum(blocks)::BIGINT AS count
FROM sites_at($snapshot_id, $device, $at_seq)
GROUP BY ALL
ORDER BY bytes DESC, site NULLS FIRST, has_stack, is_freed

-- @name   library.sites_at
-- @kind   macro
-- @title  Live memory after one entry of a trace, by call site
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    site         VARCHAR?  function and file:line; NULL: no stack, or one without frames
-- @col    has_stack    BOOLEAN
-- @col    stack_origin VARCHAR   free_event: the site of the free, where the allocation is outside the trace; none: no stack
-- @col    bytes        BIGINT   actual sizes
-- @col    blocks       BIGINT
-- @why    What peak_site is at the peak, at any moment.
SELECT site, stack_id IS NOT NULL AS has_stack, stack_origin, sum(bytes)::BIGINT AS bytes, sum(blocks)::BIGINT AS blocks
FROM stacks_at(snapshot_key, device_no, at_seq) AS stacks
GROUP BY site, stack_id IS NOT NULL, stack_origin

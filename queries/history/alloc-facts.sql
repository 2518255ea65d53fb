-- @name   history.alloc_facts
-- @title  Allocations that differ from their trace entry
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    seq             INTEGER
-- @col    excess_bytes    BIGINT   actual bytes beyond the request rounded up to 512
-- @col    uncertain_bytes BIGINT
-- @col    pool            INTEGER?
-- @col    stack_id        INTEGER?
-- @col    stack_origin    ENUM     code as in STACK_ORIGINS
-- @why    What the walk forward cannot know from the entries; last first, as the walk back found them.
SELECT seq, excess_bytes, uncertain_bytes, pool, stack_id, stack_origin
FROM derived_alloc
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY seq DESC

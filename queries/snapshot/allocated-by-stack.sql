-- @name   snapshot.allocated_by_stack
-- @title  Allocated bytes at the dump, by the stack that allocated them
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    stack_id INTEGER? NULL where it was allocated before the recording
-- @col    bytes    BIGINT   actual block sizes
-- @col    blocks   BIGINT
-- @why    Stacks are interned over the whole store, so that two dumps can be compared by id.
SELECT stack_id, sum(size_bytes)::BIGINT AS bytes, count(*) AS blocks
FROM block
WHERE snapshot_id = $snapshot_id AND device = $device AND state = 'active_allocated'
GROUP BY stack_id
ORDER BY bytes DESC, stack_id

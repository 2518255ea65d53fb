-- @name   peak.allocated_by_stack
-- @title  What the trace of a device allocates, by stack, in order of the allocations
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    stack_id INTEGER?
-- @col    bytes    BIGINT   requested
-- @col    count    BIGINT
-- @why    Throughput, whether it is freed or not.
SELECT stack_id, sum(size_bytes)::BIGINT AS bytes, count(*) AS count
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND action = 'alloc'
GROUP BY stack_id
ORDER BY min(seq)

-- @name   attribution.allocs
-- @title  Allocations of one device's trace, from one entry to before another
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  from_seq INTEGER  first
-- @param  to_seq   INTEGER  one past the last
-- @col    seq        INTEGER
-- @col    size_bytes BIGINT   requested
-- @col    stack_id   INTEGER?
-- @why    What attribution needs of every block, and no more. Rows come as they were appended, in ascending seq.
SELECT seq, size_bytes, stack_id
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq >= $from_seq AND seq < $to_seq AND action = 'alloc'

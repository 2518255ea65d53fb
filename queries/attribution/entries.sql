-- @name   attribution.entries
-- @title  Allocations and frees of one device's trace, from one entry to before another
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  from_seq INTEGER  first
-- @param  to_seq   INTEGER  one past the last
-- @param  free     VARCHAR  the action that ends a block: free_completed, or free_requested where completions were not recorded
-- @col    seq        INTEGER
-- @col    action     ENUM     code as in TRACE_ACTIONS
-- @col    addr       UBIGINT?
-- @col    size_bytes BIGINT   requested
-- @col    stack_id   INTEGER?
-- @col    alloc_seq  INTEGER?  of a free: the allocation it ends, if that is in the trace
-- @why    Who lived from when to when, which attribution needs of every block. Rows come as they were appended, in ascending seq.
SELECT seq, action, addr, size_bytes, stack_id, alloc_seq
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq >= $from_seq AND seq < $to_seq AND (action = 'alloc' OR action = $free::trace_action)

-- @name   attribution.frees
-- @title  Frees of one device's trace with the allocations they end, from one entry to before another
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  from_seq INTEGER  first
-- @param  to_seq   INTEGER  one past the last
-- @param  free     VARCHAR  the action that ends a block: free_completed, or free_requested where completions were not recorded
-- @col    seq        INTEGER
-- @col    alloc_seq  INTEGER?
-- @why    Until when each block lived. Rows come as they were appended, in ascending seq.
SELECT seq, alloc_seq
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq >= $from_seq AND seq < $to_seq AND action = $free::trace_action

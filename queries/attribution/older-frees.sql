-- @name   attribution.older_frees
-- @title  Frees of one device's trace whose allocations are older than it
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  free     VARCHAR  the action that ends a block
-- @col    seq  INTEGER
-- @col    addr UBIGINT
-- @why    Until when blocks from before the recording lived: the first free at an address is theirs.
SELECT seq, addr
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND action = $free::trace_action AND alloc_seq IS NULL AND addr IS NOT NULL
ORDER BY seq

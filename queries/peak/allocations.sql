-- @name   peak.allocations
-- @title  Allocations of one device up to an entry, with what torch recorded in addition to the stack
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  to_seq      INTEGER  last entry
-- @col    seq                INTEGER
-- @col    time_us            BIGINT?
-- @col    compile_context_id INTEGER?
-- @col    user_metadata_id   INTEGER?
-- @why    One scan answers for all live blocks; a look-up per block would cost a query each.
SELECT seq, time_us, compile_context_id, user_metadata_id
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND action = 'alloc' AND seq <= $to_seq
ORDER BY seq

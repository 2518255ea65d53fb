-- @name   history.last_before
-- @title  The last entry of a trace at or before a time
-- @param  snapshot_id INTEGER
-- @param  device  INTEGER
-- @param  time_us BIGINT  microseconds of the epoch
-- @col    seq INTEGER?  NULL if none is that old
-- @why    Times may jitter by a few microseconds; the order of a trace is its index.
SELECT max(seq) AS seq
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND time_us <= $time_us
LIMIT 1

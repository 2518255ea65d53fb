-- @name   export.entry_time
-- @title  The time of one trace entry
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  seq    INTEGER
-- @col    time_us BIGINT? microseconds since 1970
-- @why    A profile contains its time.
SELECT time_us FROM event WHERE snapshot_id = $snapshot_id AND device = $device AND seq = $seq
LIMIT 1

-- @name   history.times
-- @title  Times of the trace entries of one device
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  from_seq INTEGER  first
-- @param  to_seq   INTEGER  one past the last
-- @col    seq     INTEGER
-- @col    time_us BIGINT?
-- @why    A timeline by time needs them; the walk does not. Rows come as they were appended, in ascending seq.
SELECT seq, time_us
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq >= $from_seq AND seq < $to_seq

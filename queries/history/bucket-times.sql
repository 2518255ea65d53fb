-- @name   history.bucket_times
-- @title  First and last time of every run of entries of a trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  from_seq INTEGER
-- @param  to_seq   INTEGER  one past the last
-- @param  entries  INTEGER  entries a run
-- @col    bucket        INTEGER
-- @col    first_time_us BIGINT?  of its first entry that has one
-- @col    last_time_us  BIGINT?
-- @why    A timeline by time needs it; the walk does not read times.
SELECT
  ((seq - $from_seq) // $entries)::INTEGER AS bucket, arg_min(time_us, seq) AS first_time_us, arg_max(time_us, seq) AS last_time_us
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq >= $from_seq AND seq < $to_seq AND time_us IS NOT NULL
GROUP BY 1
ORDER BY 1

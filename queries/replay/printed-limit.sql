-- @name   replay.printed_limit
-- @title  The limit of a memory fraction that the messages of a rank print
-- @param  run_id INTEGER
-- @param  rank   INTEGER?  NULL: any
-- @col    allowed_bytes BIGINT
-- @why    A fraction is set once for a process. A message without a rank may be of any.
SELECT allowed_bytes
FROM oom_message
WHERE run_id = $run_id AND allowed_bytes IS NOT NULL AND coalesce(rank = $rank, true)
ORDER BY path, line, incident_id
LIMIT 1

-- @name   verdict.caught
-- @title  OOM entries of a device's trace after which whole training steps are recorded
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    ooms        BIGINT
-- @col    steps_after BIGINT  whole steps after the last of them
-- @col    includes_last BOOLEAN  the last entry of the device is one of them
-- @why    An OOM that the program caught is an entry of the trace like one that ended it; what follows it differs.
WITH whole AS (
  SELECT first_seq FROM trace_step
  WHERE snapshot_id = $snapshot_id AND device = $device AND partial IS NULL AND first_seq IS NOT NULL),
followed AS (
  SELECT oom.seq, (SELECT count(*) FROM whole WHERE whole.first_seq > oom.seq) AS steps_after
  FROM trace_oom AS oom WHERE oom.snapshot_id = $snapshot_id AND oom.device = $device)
SELECT count(*) AS ooms, min(steps_after) AS steps_after, max(seq) = (SELECT max(seq) FROM followed) AS includes_last
FROM followed WHERE steps_after > 0
HAVING count(*) > 0
LIMIT 1

-- @name   verdict.alike_share
-- @title  Of the bytes that a step asked for until its OOM, what an earlier step asked for at the same sites, in the same sizes
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  first_seq   INTEGER  of the earlier step
-- @param  last_seq    INTEGER
-- @param  oom_seq     INTEGER  the step that fails begins where that one ends, and its last request is the OOM
-- @param  from_seq    INTEGER  its first entry
-- @col    alike_share DOUBLE?  NULL: it asked for nothing
-- @why    Steps of one shape ask for the same memory again; of varying sequence lengths every size is another. Outer frames may differ: a
--         first step is called from elsewhere.
WITH asked AS (
  SELECT event.seq >= $from_seq AS is_failing, stack.site, event.size_bytes, count(*) AS requests
  FROM event
  LEFT JOIN stack ON stack.stack_id = event.stack_id
  WHERE event.snapshot_id = $snapshot_id AND event.device = $device
    AND (event.action = 'alloc' OR event.action = 'oom' AND event.seq = $oom_seq)
    AND (event.seq BETWEEN $first_seq AND $last_seq OR event.seq BETWEEN $from_seq AND $oom_seq)
  GROUP BY ALL)
SELECT sum(failing.size_bytes * least(failing.requests, coalesce(earlier.requests, 0))) / sum(failing.size_bytes * failing.requests)
    AS alike_share
FROM asked AS failing
LEFT JOIN asked AS earlier
  ON NOT earlier.is_failing AND earlier.size_bytes = failing.size_bytes AND earlier.site IS NOT DISTINCT FROM failing.site
WHERE failing.is_failing
LIMIT 1

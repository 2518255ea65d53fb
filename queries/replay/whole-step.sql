-- @name   replay.whole_step
-- @title  What a step like the last whole one would peak at, after the OOM of a device's trace, and the steps before it
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    projected_bytes BIGINT
-- @col    limit_bytes     BIGINT   what the process could have
-- @col    step_outcome    VARCHAR  see oom_sum
-- @col    alike_share     DOUBLE?
-- @col    step_peaks      BIGINT[] of the steps passed, oldest first
-- @col    step_ends       BIGINT[] what stayed live after each
-- @why    A recording knows the requests until the OOM only.
SELECT sum.projected_bytes, sum.limit_bytes, sum.step_outcome, fact.alike_share, list(step.peak_bytes ORDER BY step.step) AS step_peaks,
  list(step.end_bytes ORDER BY step.step) AS step_ends
FROM oom_fact AS fact
JOIN oom_sum AS sum ON sum.run_id = fact.run_id AND sum.failure = fact.failure
JOIN oom_step AS step ON step.run_id = fact.run_id AND step.failure = fact.failure
WHERE fact.snapshot_id = $snapshot_id AND fact.device = $device AND sum.step_outcome IS NOT NULL
GROUP BY ALL
LIMIT 1

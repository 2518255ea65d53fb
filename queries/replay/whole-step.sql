-- @name   replay.whole_step
-- @title  What a step like the last whole one would peak at, after the OOM of a device's trace
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    projected_bytes BIGINT
-- @col    step_outcome    VARCHAR  see oom_sum
-- @why    A what-if knows the requests until the OOM only.
SELECT sum.projected_bytes, sum.step_outcome
FROM oom_fact AS fact
JOIN oom_sum AS sum ON sum.run_id = fact.run_id AND sum.failure = fact.failure
WHERE fact.snapshot_id = $snapshot_id AND fact.device = $device AND sum.step_outcome IS NOT NULL
LIMIT 1

-- @name   verdict.counted
-- @title  The failures of a run that are counted with another one
-- @param  run_id INTEGER
-- @of     verdict: number rank device
-- @col    counted_with    INTEGER
-- @col    allocated_bytes BIGINT?
-- @needs  verdict
-- @why    What a verdict is about besides the failure that it describes.
SELECT verdict.number, verdict.rank, verdict.device, verdict.counted_with, fact.allocated_bytes
FROM verdict
JOIN oom_fact AS fact ON fact.run_id = verdict.run_id AND fact.failure = verdict.failure
WHERE verdict.run_id = $run_id AND verdict.counted_with IS NOT NULL
ORDER BY verdict.number

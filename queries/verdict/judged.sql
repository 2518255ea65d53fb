-- @name   verdict.judged
-- @title  The verdicts on a run that have their own evidence
-- @param  run_id INTEGER
-- @of     verdict: run_id number failure rank device snapshot_id seq incident_id kind cause detail confidence basis reason capture
--         untested_rivals doubts is_proven contradicted_by replay_status
-- @col    contradicting_rank  INTEGER?  of contradicted_by
-- @col    contradicting_cause VARCHAR?
-- @needs  verdict
-- @why    Evidence, advice and commands are added to these rows.
SELECT verdict.run_id, verdict.number, verdict.failure, verdict.rank, verdict.device, verdict.snapshot_id, verdict.seq, verdict.incident_id,
  verdict.kind, verdict.cause, verdict.detail, verdict.confidence, verdict.basis, verdict.reason, verdict.capture, verdict.untested_rivals,
  verdict.doubts, verdict.is_proven, verdict.contradicted_by, verdict.replay_status, other.rank AS contradicting_rank,
  other.cause AS contradicting_cause
FROM verdict
LEFT JOIN verdict AS other ON other.run_id = verdict.run_id AND other.failure = verdict.contradicted_by
WHERE verdict.run_id = $run_id AND verdict.counted_with IS NULL
ORDER BY verdict.number

-- @name   verdict.of_run
-- @title  The causes of the failures of a run
-- @param  run_id INTEGER?  NULL: all runs
-- @of     rule_verdict: run_id failure rank device snapshot_id seq incident_id kind cause detail confidence basis reason capture
--         untested_rivals doubts is_proven contradicted_by replay_status
-- @needs  oom_fact
-- @why    Evidence, advice and commands are added to these rows.
SELECT run_id, failure, rank, device, snapshot_id, seq, incident_id, kind, cause, detail, confidence, basis, reason, capture,
  untested_rivals, doubts, is_proven, contradicted_by, replay_status
FROM rule_verdict
WHERE coalesce(run_id = $run_id, true)
ORDER BY run_id, failure

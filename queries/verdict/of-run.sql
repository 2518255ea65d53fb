-- @name   verdict.of_run
-- @title  The causes of the failures of a run
-- @param  run_id INTEGER?  NULL: all runs
-- @col    run_id     INTEGER
-- @col    failure         INTEGER
-- @col    rank            INTEGER?
-- @col    device          INTEGER?
-- @col    snapshot_id     INTEGER?
-- @col    seq             INTEGER?
-- @col    incident_id     INTEGER?
-- @col    kind            VARCHAR?
-- @col    cause           VARCHAR
-- @col    detail          VARCHAR?
-- @col    confidence      VARCHAR
-- @col    basis           VARCHAR  test, kind, guide or none
-- @col    reason          VARCHAR
-- @col    capture         VARCHAR?
-- @col    untested_rivals VARCHAR[]
-- @col    doubts          VARCHAR[]
-- @col    is_proven       BOOLEAN
-- @col    contradicted_by INTEGER?
-- @col    replay_status   VARCHAR?
-- @why    Evidence, advice and commands are added to these rows.
SELECT run_id, failure, rank, device, snapshot_id, seq, incident_id, kind, cause, detail, confidence, basis, reason, capture,
  untested_rivals, doubts, is_proven, contradicted_by, replay_status
FROM rule_verdict
WHERE coalesce(run_id = $run_id, true)
ORDER BY run_id, failure

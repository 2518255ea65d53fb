-- @name   verdict.contributors
-- @title  What takes part in the failures of a run that found their device full
-- @param  run_id INTEGER?  NULL: all runs
-- @col    run_id     INTEGER
-- @col    failure     INTEGER
-- @col    contributor VARCHAR
-- @col    bytes       BIGINT
-- @why    A full device is not explained by the largest of them, but each makes it a little fuller.
SELECT run_id, failure, contributor, bytes FROM oom_contributor WHERE coalesce(run_id = $run_id, true) AND is_notable ORDER BY run_id,
  failure, bytes DESC, contributor

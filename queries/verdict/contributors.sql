-- @name   verdict.contributors
-- @title  What takes part in the failures of a run that found their device full
-- @param  run_id INTEGER
-- @col    failure     INTEGER
-- @col    contributor VARCHAR
-- @col    bytes       BIGINT
-- @why    A full device is not explained by the largest of them, but each makes it a little fuller.
SELECT failure, contributor, bytes FROM oom_contributor WHERE run_id = $run_id AND is_notable ORDER BY failure, bytes DESC, contributor

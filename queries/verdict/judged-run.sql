-- @name   verdict.judged_run
-- @title  How many failures of a run have their facts in the store; no row: they were not looked for
-- @param  run_id INTEGER
-- @param  rules  INTEGER  version of the rules they were found by
-- @col    failures BIGINT
-- @why    An older version, or an ingest that was killed, leaves a run without them.
SELECT (SELECT count(*) FROM oom_fact WHERE run_id = $run_id) AS failures
FROM judged_run
WHERE run_id = $run_id AND rules = $rules
ORDER BY failures

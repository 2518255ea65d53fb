-- @name   verdict.unjudged_runs
-- @title  Runs without the facts of their failures
-- @param  rules  INTEGER  version of the rules they are found by
-- @col    run_id INTEGER
-- @why    What a killed ingest left out, or other rules made, is derived when the store is opened.
SELECT run_id FROM run
WHERE NOT EXISTS (FROM judged_run AS done WHERE done.run_id = run.run_id AND done.rules = $rules)
ORDER BY run_id

-- @name   verdict.judged_run
-- @title  The version of the rules by which the facts of a run's failures were found; no row: they were not looked for
-- @param  run_id INTEGER
-- @param  rules  INTEGER  the version wanted
-- @col    rules  INTEGER
-- @why    An older version, or an ingest that was killed, leaves a run without them.
SELECT rules FROM judged_run WHERE run_id = $run_id AND rules = $rules LIMIT 1

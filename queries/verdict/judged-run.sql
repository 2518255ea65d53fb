-- @name   verdict.judged_run
-- @title  Whether the facts of a run's failures are in the store
-- @param  run_id INTEGER
-- @param  rules  INTEGER  version of the rules they were found by
-- @col    run_id INTEGER
-- @why    An older version, or an ingest that was killed, leaves a run without them.
SELECT run_id FROM judged_run WHERE run_id = $run_id AND rules = $rules ORDER BY run_id

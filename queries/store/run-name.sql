-- @name   store.run_name
-- @title  The name of a run
-- @param  run_id INTEGER
-- @col    name   VARCHAR
-- @why    Rows of public tables have the name and the number.
SELECT name FROM run WHERE run_id = $run_id LIMIT 1

-- @name   incident.engine_sign
-- @title  The first sign that a run trains and generates on the same devices
-- @param  run_id INTEGER
-- @col    sign         VARCHAR
-- @col    display_path VARCHAR
-- @col    line         BIGINT
-- @why    One is shown with a verdict about other processes.
SELECT sign, display_path, line FROM engine_sign WHERE run_id = $run_id ORDER BY display_path, line, sign LIMIT 1

-- @name   verdict.steps
-- @title  The training steps before the failures of a run that have a trace
-- @param  run_id INTEGER
-- @col    failure    INTEGER
-- @col    is_settled BOOLEAN
-- @col    peak_bytes BIGINT
-- @col    end_bytes  BIGINT
-- @needs  oom_step
-- @why    What grows from step to step is a leak.
SELECT failure, is_settled, peak_bytes, end_bytes FROM oom_step WHERE run_id = $run_id ORDER BY failure, step

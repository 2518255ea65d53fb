-- @name   export.ranks_of_run
-- @title  The ranks of a run
-- @param  run_id INTEGER  the run
-- @col    rank INTEGER  global rank
-- @why    A task of a lake prints how many of them it has added.
SELECT rank FROM rank_summary WHERE run_id = $run_id AND rank IS NOT NULL ORDER BY rank

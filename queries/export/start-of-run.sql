-- @name   export.start_of_run
-- @title  When a run began, as every task that reads a part of its ranks sees it
-- @param  run_id INTEGER  the run
-- @col    started_us BIGINT?  first time in the logs of all ranks, µs since 1970 by their clock
-- @why    A directory may be used for one run after the other. Files of single ranks are not read by all tasks.
SELECT min(launch.time_us) AS started_us
FROM source_attempt AS launch JOIN source USING (source_id)
WHERE source.run_id = $run_id AND source.rank IS NULL
LIMIT 1

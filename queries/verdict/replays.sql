-- @name   verdict.replays
-- @title  How well the allocator model repeats the recordings of a run's failures
-- @param  run_id INTEGER
-- @of     oom_replay: failure status reason address_matches address_total repeats_oom layout_short_bytes least_capacity_bytes
-- @needs  oom_replay
-- @why    Part of a traced failure's verdict.
SELECT failure, status, reason, address_matches, address_total, repeats_oom, layout_short_bytes, least_capacity_bytes
FROM oom_replay
WHERE run_id = $run_id
ORDER BY failure

-- @name   verdict.replays
-- @title  How well the allocator model repeats the recordings of a run's failures
-- @param  run_id INTEGER
-- @col    failure              INTEGER
-- @col    status               VARCHAR  exact, approximate or refused
-- @col    reason               VARCHAR
-- @col    address_matches      BIGINT
-- @col    address_total        BIGINT
-- @col    repeats_oom          BOOLEAN  with the recorded settings and capacity the model fails at the recorded OOM
-- @col    layout_short_bytes   BIGINT?  needed from the driver there: the missing bytes plus the unusable holes
-- @col    least_capacity_bytes BIGINT?  with which every request of the trace is served as recorded
-- @why    Part of a traced failure's verdict.
SELECT failure, status, reason, address_matches, address_total, repeats_oom, layout_short_bytes, least_capacity_bytes
FROM oom_replay
WHERE run_id = $run_id
ORDER BY failure

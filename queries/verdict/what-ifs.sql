-- @name   verdict.what_ifs
-- @title  What the allocator model answers about the failures of a run: the recorded settings, then the other kind of segments
-- @param  run_id INTEGER
-- @col    failure                   INTEGER
-- @col    setting                   VARCHAR
-- @col    capacity_bytes            BIGINT?  NULL: no limit
-- @col    outcome                   VARCHAR
-- @col    peak_reserved_bytes       BIGINT
-- @col    peak_reserved_least_bytes BIGINT
-- @col    peak_reserved_most_bytes  BIGINT
-- @col    peak_active_bytes         BIGINT
-- @col    headroom_bytes            BIGINT?
-- @col    driver_calls              BIGINT
-- @col    bound                     VARCHAR
-- @col    unused_at_peak_bytes      BIGINT
-- @col    retries                   BIGINT
-- @col    short_bytes               BIGINT?
-- @col    oom_seq                   INTEGER?
-- @col    robust                    BOOLEAN
-- @col    note                      VARCHAR?
-- @why    Part of a traced failure's verdict.
SELECT failure, setting, capacity_bytes, outcome, peak_reserved_bytes, peak_reserved_least_bytes, peak_reserved_most_bytes,
  peak_active_bytes, headroom_bytes,
  driver_calls, bound, unused_at_peak_bytes, retries, short_bytes, oom_seq, robust, note
FROM oom_what_if
WHERE run_id = $run_id
ORDER BY failure, position

-- @name   verdict.what_ifs
-- @title  What the allocator model answers about the failures of a run: the recorded settings, then the other kind of segments
-- @param  run_id INTEGER
-- @col    failure                   INTEGER
-- @col    setting                   VARCHAR  as after PYTORCH_CUDA_ALLOC_CONF=; recorded: the recorded settings
-- @col    capacity_bytes            BIGINT?  NULL: no limit
-- @col    outcome                   VARCHAR
-- @col    peak_reserved_bytes       BIGINT
-- @col    peak_reserved_least_bytes BIGINT  of all cases between which the file does not decide
-- @col    peak_reserved_most_bytes  BIGINT
-- @col    peak_active_bytes         BIGINT
-- @col    headroom_bytes            BIGINT?  capacity less the most peak reserved
-- @col    driver_calls              BIGINT  that succeed, giving back included: each synchronises, a proxy of cost
-- @col    bound                     VARCHAR
-- @col    unused_at_peak_bytes      BIGINT  reserved and not active when most is reserved
-- @col    retries                   BIGINT  flushes that failing requests forced
-- @col    short_bytes               BIGINT?  how much more the driver would have had to give; NULL: nothing fails
-- @col    oom_seq                   INTEGER?  entry of the failing request; -1: what is live at the start
-- @col    robust                    BOOLEAN  all such cases end so, and the recorded settings repeat the recording
-- @col    note                      VARCHAR?  a remark: without effect, below the error of the start
-- @why    Part of a traced failure's verdict.
SELECT failure, setting, capacity_bytes, outcome, peak_reserved_bytes, peak_reserved_least_bytes, peak_reserved_most_bytes,
  peak_active_bytes, headroom_bytes,
  driver_calls, bound, unused_at_peak_bytes, retries, short_bytes, oom_seq, robust, note
FROM oom_what_if
WHERE run_id = $run_id
ORDER BY failure, position

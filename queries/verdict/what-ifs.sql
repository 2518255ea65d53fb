-- @name   verdict.what_ifs
-- @title  What the allocator model answers about the failures of a run: the recorded settings, then the other kind of segments
-- @param  run_id INTEGER
-- @of     oom_what_if: failure setting capacity_bytes outcome peak_reserved_bytes peak_reserved_least_bytes peak_reserved_most_bytes
--         peak_active_bytes headroom_bytes driver_calls bound unused_at_peak_bytes retries short_bytes oom_seq robust note
-- @needs  oom_what_if
-- @why    Part of a traced failure's verdict.
SELECT failure, setting, capacity_bytes, outcome, peak_reserved_bytes, peak_reserved_least_bytes, peak_reserved_most_bytes,
  peak_active_bytes, headroom_bytes,
  driver_calls, bound, unused_at_peak_bytes, retries, short_bytes, oom_seq, robust, note
FROM oom_what_if
WHERE run_id = $run_id
ORDER BY failure, position

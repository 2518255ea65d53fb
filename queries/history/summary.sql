-- @name   history.summary
-- @title  What the walk over a device's trace found out
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @of     derived_history: events holds starts_empty violations implied_completions peak_active_bytes peak_active_seq
--         peak_reserved_bytes peak_reserved_seq uncertain_blocks uncertain_bytes bucket_entries
-- @why    The evidence for statements about a trace.
SELECT
  events, holds, starts_empty, violations, implied_completions, peak_active_bytes, peak_active_seq, peak_reserved_bytes,
  peak_reserved_seq, uncertain_blocks, uncertain_bytes, bucket_entries
FROM derived_history
WHERE snapshot_id = $snapshot_id AND device = $device
LIMIT 1

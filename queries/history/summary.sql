-- @name   history.summary
-- @title  What the walk over a device's trace found out
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    events              INTEGER
-- @col    holds               BOOLEAN  nothing contradicts the allocator's rules, a skew of the last few entries aside
-- @col    ends_in_dump        BOOLEAN  forward from the start the trace ends in the dumped state
-- @col    starts_empty        BOOLEAN
-- @col    violations          INTEGER
-- @col    implied_completions INTEGER
-- @col    peak_active_bytes   BIGINT   actual sizes
-- @col    peak_active_seq     INTEGER? NULL: before the first entry
-- @col    peak_reserved_bytes BIGINT
-- @col    peak_reserved_seq   INTEGER?
-- @col    uncertain_blocks    INTEGER  of the start state
-- @col    uncertain_bytes     BIGINT
-- @col    bucket_entries      INTEGER  entries a row of derived_bucket
-- @why    The evidence for statements about a trace.
SELECT
  events, holds, ends_in_dump, starts_empty, violations, implied_completions, peak_active_bytes, peak_active_seq, peak_reserved_bytes,
  peak_reserved_seq, uncertain_blocks, uncertain_bytes, bucket_entries
FROM derived_history
WHERE snapshot_id = $snapshot_id AND device = $device
LIMIT 1

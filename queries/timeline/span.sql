-- @name   timeline.span
-- @title  First and last entry of the trace of a device, and its last entry at or before a time
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  time_us BIGINT?
-- @col    entries       BIGINT
-- @col    first_seq     INTEGER
-- @col    last_seq      INTEGER
-- @col    first_time_us BIGINT? earliest time
-- @col    last_time_us  BIGINT? latest time
-- @col    untimed       BIGINT  entries without a time
-- @col    seq_at_time   INTEGER? NULL where every entry is later
-- @why    What a moment of the trace is measured against. No row without a trace.
SELECT
  count(*) AS entries, min(seq) AS first_seq, max(seq) AS last_seq, min(time_us) AS first_time_us, max(time_us) AS last_time_us,
  count(*) - count(time_us) AS untimed, max(seq) FILTER (time_us <= $time_us) AS seq_at_time
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device
HAVING count(*) > 0
ORDER BY first_seq

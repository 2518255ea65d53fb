-- @name   timeline.points
-- @title  Single entries of a trace worth marking: failures, and snapshots being taken
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  from_seq INTEGER  first
-- @param  to_seq   INTEGER  last
-- @col    seq               INTEGER
-- @col    action            VARCHAR  oom or snapshot
-- @col    time_us           BIGINT?
-- @col    requested_bytes   BIGINT?  of a failure: the rounded request
-- @col    device_free_bytes BIGINT?  of a failure
-- @why    They change no figure, so the timeline lacks rows for them.
SELECT event.seq, event.action::VARCHAR AS action, event.time_us, oom.requested_bytes, oom.device_free_bytes
FROM event
LEFT JOIN trace_oom AS oom ON oom.snapshot_id = event.snapshot_id AND oom.device = event.device AND oom.seq = event.seq
WHERE event.snapshot_id = $snapshot_id AND event.device = $device AND event.seq BETWEEN $from_seq AND $to_seq
  AND event.action IN ('oom', 'snapshot')
ORDER BY event.seq

-- @name   finding.oom_entry
-- @title  One entry of a trace, with what was live and reserved just before it and who asked
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  seq    INTEGER
-- @col    seq               INTEGER
-- @col    action            VARCHAR
-- @col    requested_bytes   BIGINT?
-- @col    device_free_bytes BIGINT?  cudaMemGetInfo at that moment; only on OOM entries
-- @col    active_bytes      BIGINT?  actual sizes, pending frees included
-- @col    reserved_bytes    BIGINT?
-- @col    stream            BIGINT?
-- @col    time_us           BIGINT?
-- @col    frames            VARCHAR? innermost first
-- @why    Facts about the failing request for a verdict, from the entry itself.
SELECT
  event.seq, event.action::VARCHAR AS action, event.size_bytes AS requested_bytes, oom.device_free_bytes,
  total.active_bytes, total.reserved_bytes, event.stream, event.time_us,
  (SELECT string_agg(frame.name || ' ' || frame.filename || ':' || frame.line, ' < ' ORDER BY stack_frame.pos)
    FROM stack_frame JOIN frame USING (frame_id) WHERE stack_frame.stack_id = event.stack_id) AS frames
FROM event
LEFT JOIN trace_oom AS oom ON oom.snapshot_id = event.snapshot_id AND oom.device = event.device AND oom.seq = event.seq
LEFT JOIN totals_between($snapshot_id, $device, $seq - 1, $seq - 1) AS total ON true
WHERE event.snapshot_id = $snapshot_id AND event.device = $device AND event.seq = $seq
ORDER BY event.seq

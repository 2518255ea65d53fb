-- @name   oom.state
-- @title  Sums of a device just before an OOM entry, and what its request made torch do
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  seq    INTEGER  of the OOM entry
-- @of     oom_state
-- @why    Rows of oom_state, derived while ingesting. Torch's last resort waits for pending frees and returns segments to the driver
--         (synchronize_and_free_events), which is the run of such entries just before the OOM. A free without a wait is two successive
--         entries with one time; a free that torch waited for completes later than it was requested. 32,768 entries are searched: a
--         flush of thousands of segments is between the wait and the OOM.
WITH entry AS (
  SELECT seq, action, addr, size_bytes, time_us FROM event
  WHERE snapshot_id = $snapshot_id AND device = $device AND seq < $seq AND seq >= $seq - 32768),
stop AS (SELECT max(seq) AS seq FROM entry WHERE action NOT IN ('free_completed', 'segment_free', 'segment_unmap')),
wait AS (
  SELECT coalesce(sum(entry.size_bytes), 0)::BIGINT AS bytes
  FROM entry
  CROSS JOIN stop
  LEFT JOIN entry AS request ON request.seq = stop.seq AND request.action = 'free_requested' AND entry.seq = stop.seq + 1
    AND request.addr IS NOT DISTINCT FROM entry.addr AND request.time_us IS NOT DISTINCT FROM entry.time_us
  WHERE entry.action = 'free_completed' AND entry.seq > coalesce(stop.seq, -1) AND request.seq IS NULL)
SELECT
  $snapshot_id AS snapshot_id, $device AS device, $seq AS seq, event.stream, event.stack_id,
  CASE WHEN oom.requested_bytes <= 1048576 THEN 2097152 WHEN oom.requested_bytes < 10485760 THEN history.large_segment_bytes
    ELSE (oom.requested_bytes + 2097151) // 2097152 * 2097152 END AS segment_request_bytes,
  wait.bytes AS freed_by_wait_bytes, total.*
FROM totals_at($snapshot_id, $device, $seq - 1) AS total
CROSS JOIN wait
JOIN trace_oom AS oom ON oom.snapshot_id = $snapshot_id AND oom.device = $device AND oom.seq = $seq
JOIN event ON event.snapshot_id = oom.snapshot_id AND event.device = oom.device AND event.seq = oom.seq
JOIN derived_history AS history ON history.snapshot_id = oom.snapshot_id AND history.device = oom.device
ORDER BY oom.seq

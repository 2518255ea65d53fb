-- @name   snapshot.ooms
-- @title  OOM entries of the traces of a snapshot
-- @param  snapshot_id INTEGER
-- @col    device            INTEGER
-- @col    seq               INTEGER
-- @col    requested_bytes   BIGINT   rounded request, smaller than what the message prints
-- @col    device_free_bytes BIGINT?  cudaMemGetInfo at that moment
-- @col    stream            BIGINT?
-- @col    stack_id          INTEGER? stack of the failing allocation
-- @col    last_seq          INTEGER  last entry of that device
-- @needs  trace_oom
-- @why    The OOM entry contains the only driver figure of a snapshot.
SELECT
  oom.device, oom.seq, oom.requested_bytes, oom.device_free_bytes, event.stream, event.stack_id,
  (SELECT max(other.seq) FROM event AS other WHERE other.snapshot_id = oom.snapshot_id AND other.device = oom.device) AS last_seq
FROM trace_oom AS oom
JOIN event ON event.snapshot_id = oom.snapshot_id AND event.device = oom.device AND event.seq = oom.seq
WHERE oom.snapshot_id = $snapshot_id
ORDER BY device, seq

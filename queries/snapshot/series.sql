-- @name   snapshot.series
-- @title  Every device of every memory snapshot of a run, with what puts it into the order of time
-- @param  run_id INTEGER
-- @of     snapshot: snapshot_id handle rank dump_trigger dump_trigger_origin step step_origin
-- @col    display_path         VARCHAR  file, relative to the run
-- @col    attempt              INTEGER  launch, from 1
-- @col    device               INTEGER
-- @col    events               BIGINT?  NULL if the device lacks a trace
-- @col    first_time_us        BIGINT?  of the trace
-- @col    last_time_us         BIGINT?
-- @col    annotation_time_us   BIGINT?  last annotation of the snapshot
-- @col    oom_entries          BIGINT
-- @col    allocated_bytes      BIGINT   at the dump, as the next three
-- @col    active_bytes         BIGINT
-- @col    reserved_bytes       BIGINT
-- @col    inactive_bytes       BIGINT
-- @col    start_reserved_bytes BIGINT?  before the first entry of the trace
-- @why    A leak shows between the dumps of one rank, and only in their order. Clocks come from the traces: files are copied, and mtimes
--         with them.
SELECT
  snapshot.snapshot_id, snapshot.handle, source.display_path, source.attempt, snapshot.rank, device.device,
  snapshot.dump_trigger, snapshot.dump_trigger_origin, snapshot.step, snapshot.step_origin,
  device.events, times.first_time_us, times.last_time_us, annotations.annotation_time_us, coalesce(ooms.oom_entries, 0) AS oom_entries,
  device.allocated_bytes, device.active_bytes, device.reserved_bytes, device.inactive_bytes,
  device.reserved_bytes - device.reserved_delta_bytes AS start_reserved_bytes
FROM snapshot
JOIN source USING (source_id)
JOIN snapshot_device AS device ON device.snapshot_id = snapshot.snapshot_id
LEFT JOIN (
  SELECT snapshot_id, device, min(time_us) AS first_time_us, max(time_us) AS last_time_us
  FROM event
  WHERE snapshot_id IN (SELECT snapshot_id FROM snapshot WHERE run_id = $run_id)
  GROUP BY snapshot_id, device) AS times ON times.snapshot_id = snapshot.snapshot_id AND times.device = device.device
LEFT JOIN (
  SELECT snapshot_id, max(time_us) AS annotation_time_us FROM annotation GROUP BY snapshot_id) AS annotations
    ON annotations.snapshot_id = snapshot.snapshot_id
LEFT JOIN (
  SELECT snapshot_id, device, count(*) AS oom_entries FROM trace_oom GROUP BY snapshot_id, device) AS ooms
  ON ooms.snapshot_id = snapshot.snapshot_id AND ooms.device = device.device
WHERE snapshot.run_id = $run_id AND (device.segments > 0 OR device.events > 0)
ORDER BY snapshot.rank NULLS FIRST, device.device, snapshot.snapshot_id

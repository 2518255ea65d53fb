-- @name   verdict.idle_devices
-- @title  Devices of the snapshots of a run with memory or a trace, the one with the most live memory first
-- @param  run_id INTEGER
-- @col    snapshot_id    INTEGER
-- @col    device         INTEGER
-- @col    has_trace      BOOLEAN
-- @col    starts_empty   BOOLEAN
-- @col    holds          BOOLEAN
-- @col    peak_seq       INTEGER? entry of the peak of live memory
-- @col    reserved_bytes BIGINT   at its own peak; without a trace at the dump
-- @col    active_bytes   BIGINT
-- @why    A run without an OOM is described by the most that its devices held.
SELECT device.snapshot_id, device.device, device.events IS NOT NULL AS has_trace, history.starts_empty, history.holds,
  history.peak_active_seq AS peak_seq,
  CASE WHEN has_trace THEN history.peak_reserved_bytes ELSE device.reserved_bytes END AS reserved_bytes,
  CASE WHEN has_trace THEN history.peak_active_bytes ELSE device.active_bytes END AS active_bytes
FROM snapshot_device AS device
JOIN snapshot ON snapshot.snapshot_id = device.snapshot_id
JOIN source ON source.source_id = snapshot.source_id
JOIN derived_history AS history ON history.snapshot_id = device.snapshot_id AND history.device = device.device
WHERE snapshot.run_id = $run_id AND (device.reserved_bytes <> 0 OR device.events IS NOT NULL)
ORDER BY active_bytes DESC, snapshot.rank NULLS FIRST, source.display_path, device.snapshot_id, device.device

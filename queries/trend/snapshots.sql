-- @name   trend.snapshots
-- @title  Peaks of all runs as their memory snapshots have them, the largest over snapshots and devices
-- @col    run_id          INTEGER
-- @col    allocated_bytes BIGINT
-- @col    allocated_basis VARCHAR  actual, approximate, or dump: the state at the dump, there being no trace
-- @col    active_bytes    BIGINT
-- @col    active_basis    VARCHAR
-- @col    reserved_bytes  BIGINT
-- @col    reserved_basis  VARCHAR
-- @col    oom_entries     BIGINT   failed allocations in the traces
-- @why    Lifetimes give the peaks of traces that hold; a snapshot without a trace shows no more than its dump.
WITH
  histories AS (SELECT * FROM derived_history WHERE events > 0),
  buckets AS (SELECT snapshot_id, device, max(allocated_max_bytes) AS allocated_bytes FROM derived_bucket GROUP BY snapshot_id, device),
  ooms AS (SELECT snapshot_id, device, count(*) AS entries FROM trace_oom GROUP BY snapshot_id, device),
  devices AS (
    SELECT snapshot.run_id,
      device.active_bytes - device.requested_delta_bytes + device.requested_delta_peak_bytes AS anchored_bytes,
      device.reserved_bytes - device.reserved_delta_bytes + device.reserved_delta_peak_bytes AS traced_reserved_bytes,
      CASE WHEN history.holds THEN 'actual' WHEN history.snapshot_id IS NOT NULL OR anchored_bytes IS NOT NULL THEN 'approximate'
        ELSE 'dump' END AS basis,
      coalesce(CASE WHEN history.snapshot_id IS NOT NULL THEN bucket.allocated_bytes END, anchored_bytes,
        device.allocated_bytes) AS allocated_bytes,
      CASE WHEN basis = 'actual' AND bucket.allocated_bytes IS NULL THEN 'approximate' ELSE basis END AS allocated_basis,
      coalesce(history.peak_active_bytes, anchored_bytes, device.active_bytes) AS active_bytes,
      coalesce(history.peak_reserved_bytes, traced_reserved_bytes, device.reserved_bytes) AS reserved_bytes,
      CASE WHEN history.snapshot_id IS NULL AND traced_reserved_bytes IS NULL THEN 'dump' ELSE 'actual' END AS reserved_basis,
      coalesce(ooms.entries, 0) AS oom_entries
    FROM snapshot
    JOIN snapshot_device AS device USING (snapshot_id)
    LEFT JOIN histories AS history ON history.snapshot_id = device.snapshot_id AND history.device = device.device
    LEFT JOIN buckets AS bucket ON bucket.snapshot_id = device.snapshot_id AND bucket.device = device.device
    LEFT JOIN ooms ON ooms.snapshot_id = device.snapshot_id AND ooms.device = device.device)
SELECT run_id, max(allocated_bytes) AS allocated_bytes, arg_max(allocated_basis, allocated_bytes) AS allocated_basis,
  max(active_bytes) AS active_bytes, arg_max(basis, active_bytes) AS active_basis, max(reserved_bytes) AS reserved_bytes,
  arg_max(reserved_basis, reserved_bytes) AS reserved_basis, sum(oom_entries)::BIGINT AS oom_entries
FROM devices
GROUP BY run_id
ORDER BY run_id

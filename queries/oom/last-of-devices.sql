-- @name   oom.last_of_devices
-- @title  The last OOM entry of each device of a snapshot
-- @param  snapshot_id INTEGER
-- @col    device   INTEGER
-- @col    seq      INTEGER
-- @col    is_rounded BOOLEAN max_split_size_mb or roundup_power2_divisions are set
-- @needs  trace_oom
-- @why    Earlier ones were survived.
SELECT oom.device, max(oom.seq) AS seq,
  coalesce(bool_or(history.max_split_bytes IS NOT NULL OR history.roundup_divisions IS NOT NULL), false) AS is_rounded
FROM trace_oom AS oom
JOIN derived_history AS history ON history.snapshot_id = oom.snapshot_id AND history.device = oom.device
WHERE oom.snapshot_id = $snapshot_id
GROUP BY oom.device
ORDER BY oom.device

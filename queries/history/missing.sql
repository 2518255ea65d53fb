-- @name   history.missing
-- @title  Devices of snapshots whose history is not derived yet
-- @param  rules INTEGER
-- @col    snapshot_id INTEGER
-- @col    device      INTEGER
-- @why    Histories are derived when a question first needs them, never while ingesting.
SELECT snapshot_id, device
FROM snapshot_device
WHERE NOT EXISTS (
  SELECT 1 FROM derived_history AS history
  WHERE history.snapshot_id = snapshot_device.snapshot_id AND history.device = snapshot_device.device AND history.rules = $rules)
ORDER BY snapshot_id, device

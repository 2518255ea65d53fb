-- @name   history.underived
-- @title  Devices of snapshots whose lifetimes are missing, or were derived by older rules
-- @param  rules INTEGER
-- @col    snapshot_id INTEGER
-- @col    device      INTEGER
-- @why    A store of an older version is brought up to date when it is opened.
SELECT snapshot_id, device
FROM snapshot_device
WHERE NOT EXISTS (
  FROM derived_history AS history
  WHERE history.snapshot_id = snapshot_device.snapshot_id AND history.device = snapshot_device.device AND history.rules = $rules)
ORDER BY snapshot_id, device

-- @name   attribution.missing
-- @title  Devices of snapshots whose blocks are not attributed yet
-- @param  rules INTEGER  version of the rules
-- @col    snapshot_id INTEGER
-- @col    device      INTEGER
-- @why    Attribution is kept when a statement first needs it, never while ingesting.
SELECT snapshot_id, device
FROM snapshot_device
WHERE (segments > 0 OR events IS NOT NULL) AND NOT EXISTS (
  SELECT 1 FROM derived_attribution AS done
  WHERE done.snapshot_id = snapshot_device.snapshot_id AND done.device = snapshot_device.device AND done.rules = $rules)
ORDER BY snapshot_id, device

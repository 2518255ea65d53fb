-- @name   attribution.devices
-- @title  Devices of the snapshots of a run, and what their labels were made with
-- @param  run_id INTEGER
-- @col    snapshot_id INTEGER
-- @col    device      INTEGER
-- @col    rank        INTEGER?
-- @col    rules       INTEGER? version of the rules; NULL: no labels yet
-- @col    figures     VARCHAR? facts of the run, as JSON
-- @why    Labels are made again where the rules or the facts of the run have changed. Devices whose lifetimes an older version did not
--         derive come later.
SELECT snapshot_device.snapshot_id, snapshot_device.device, snapshot.rank, done.rules, done.figures
FROM snapshot_device
JOIN snapshot USING (snapshot_id)
JOIN derived_history AS history ON history.snapshot_id = snapshot_device.snapshot_id AND history.device = snapshot_device.device
LEFT JOIN labelled_device AS done ON done.snapshot_id = snapshot_device.snapshot_id AND done.device = snapshot_device.device
WHERE snapshot.run_id = $run_id
ORDER BY snapshot_device.snapshot_id, snapshot_device.device

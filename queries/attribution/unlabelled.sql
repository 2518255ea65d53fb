-- @name   attribution.unlabelled
-- @title  Runs with a device whose blocks lack labels by these rules
-- @param  rules INTEGER  version of the rules
-- @col    run_id INTEGER
-- @why    What a killed ingest left out, or other rules made, is derived when the store is opened.
SELECT DISTINCT snapshot.run_id
FROM snapshot_device
JOIN snapshot USING (snapshot_id)
WHERE NOT EXISTS (
  FROM labelled_device AS done
  WHERE done.snapshot_id = snapshot_device.snapshot_id AND done.device = snapshot_device.device AND done.rules = $rules)
ORDER BY snapshot.run_id

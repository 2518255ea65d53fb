-- @name   replay.run_of_snapshot
-- @title  The run a snapshot belongs to
-- @param  snapshot_id INTEGER
-- @col    run_id INTEGER
-- @why    What the logs of the same run print completes what a snapshot says of the device.
SELECT run_id
FROM snapshot
WHERE snapshot_id = $snapshot_id
ORDER BY run_id

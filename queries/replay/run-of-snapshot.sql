-- @name   replay.run_of_snapshot
-- @title  The run and rank a snapshot belongs to
-- @param  snapshot_id INTEGER
-- @col    run_id INTEGER
-- @col    rank   INTEGER?
-- @why    What the logs of the same run print completes what a snapshot says of the device.
SELECT run_id, rank
FROM snapshot
WHERE snapshot_id = $snapshot_id
ORDER BY run_id

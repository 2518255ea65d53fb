-- @name   replay.run_of_snapshot
-- @title  The run and rank a snapshot belongs to
-- @param  snapshot_id INTEGER
-- @col    run_id INTEGER
-- @col    rank   INTEGER?
-- @why    The logs of the same run complete a snapshot's facts about the device.
SELECT run_id, rank
FROM snapshot
WHERE snapshot_id = $snapshot_id
ORDER BY run_id

-- @name   measure.oom_snapshots
-- @title  Snapshots of a run whose trace ends with an OOM, or holds one
-- @param  run_id INTEGER
-- @col    snapshot_id INTEGER
-- @why    A run without logs may still have run out of memory.
SELECT DISTINCT snapshot.snapshot_id
FROM snapshot JOIN trace_oom USING (snapshot_id)
WHERE snapshot.run_id = $run_id
ORDER BY snapshot.snapshot_id

-- @name   diff.snapshot_times
-- @title  When the trace of each snapshot of a run ends
-- @param  run_id INTEGER
-- @col    snapshot_id  INTEGER
-- @col    last_time_us BIGINT?  Unix epoch; NULL where no entry has a time
-- @why    Of several snapshots of a rank the latest is compared, and a snapshot does not contain its time.
SELECT snapshot.snapshot_id, max(event.time_us) AS last_time_us
FROM snapshot
LEFT JOIN event USING (snapshot_id)
WHERE snapshot.run_id = $run_id
GROUP BY snapshot.snapshot_id
ORDER BY snapshot.snapshot_id

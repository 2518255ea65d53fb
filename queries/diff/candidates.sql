-- @name   diff.candidates
-- @title  The devices of a run, or of one snapshot, that may be compared
-- @param  run_id INTEGER
-- @param  handle VARCHAR?  only of this snapshot
-- @of     devices_of: snapshot_id handle path run rank device has_trace reserved_bytes ooms
-- @why    In order of rank, then time, then place: the last snapshot of a rank is compared. Of a snapshot alone the first device is
--         measured: one that ran out of memory, then one with a trace, then the largest.
SELECT snapshot_id, handle, path, run, rank, device, has_trace, reserved_bytes, ooms
FROM devices_of(coalesce($handle, (SELECT name FROM run WHERE run_id = $run_id))) AS known
ORDER BY coalesce(rank, -1), coalesce(last_time_us, -1), snapshot_id, ooms > 0 DESC, has_trace DESC, reserved_bytes DESC, device

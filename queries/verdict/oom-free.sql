-- @name   verdict.oom_free
-- @title  Free memory inside PyTorch at the last OOM of each device of a run, by whether torch searched it for the request
-- @param  run_id INTEGER
-- @of     oom_free: snapshot_id device class bytes largest_bytes free_blocks pinned_segments pinning_bytes
-- @needs  oom_hole
-- @why    Fragmentation is much free memory in the searched class, all of it in pieces smaller than the request.
SELECT free.snapshot_id, free.device, free.class, free.bytes, free.largest_bytes, free.free_blocks, free.pinned_segments, free.pinning_bytes
FROM oom_free AS free
JOIN snapshot ON snapshot.snapshot_id = free.snapshot_id
WHERE snapshot.run_id = $run_id
ORDER BY free.snapshot_id, free.device, free.class

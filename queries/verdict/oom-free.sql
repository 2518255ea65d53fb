-- @name   verdict.oom_free
-- @title  Free memory inside PyTorch at the last OOM of a device, by whether torch searched it for the request
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    class           VARCHAR
-- @col    bytes           BIGINT
-- @col    largest_bytes   BIGINT
-- @col    free_blocks     BIGINT
-- @col    pinned_segments BIGINT
-- @col    pinning_bytes   BIGINT
-- @why    Fragmentation is much free memory in the searched class, all of it in pieces smaller than the request.
SELECT class, bytes, largest_bytes, free_blocks, pinned_segments, pinning_bytes
FROM oom_free
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY class

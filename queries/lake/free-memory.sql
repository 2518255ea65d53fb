-- @name    lake.free_memory
-- @title   Free memory inside PyTorch at failures, by whether it could serve the request
-- @param   run VARCHAR   one run; empty: all
-- @default run
-- @col     run VARCHAR                    the run
-- @col     reason VARCHAR                 searched: torch looked there; other_stream, other_size_class, private_pool: it could not
-- @col     failures BIGINT                devices with such memory at their last OOM
-- @col     free_bytes DECIMAL(38,0)       of all these devices
-- @col     most_free_bytes BIGINT         of one device
-- @col     largest_bytes BIGINT           largest free block
-- @col     free_blocks BIGINT             number of free blocks
-- @col     pinned_segments BIGINT         segments with such blocks that live blocks keep from going back to the driver
-- @col     pinning_bytes DECIMAL(38,0)    actual sizes of these live blocks
-- @why     Much free memory that was searched, in pieces smaller than the request, is fragmentation; the rest belongs to others.
SELECT run, class AS reason, COUNT(*) AS failures, CAST(SUM(bytes) AS DECIMAL(38, 0)) AS free_bytes, MAX(bytes) AS most_free_bytes,
  MAX(largest_bytes) AS largest_bytes, CAST(SUM(free_blocks) AS BIGINT) AS free_blocks,
  CAST(SUM(pinned_segments) AS BIGINT) AS pinned_segments, CAST(SUM(COALESCE(pinning_bytes, 0)) AS DECIMAL(38, 0)) AS pinning_bytes
FROM oom_free
WHERE $run = '' OR run = $run
GROUP BY run, class
ORDER BY run ASC NULLS LAST, free_bytes DESC NULLS LAST, reason ASC NULLS LAST

-- @name   snapshot.pinned_host_memory
-- @title  Pinned host memory at each dump, most first
-- @param  run_id      INTEGER?
-- @param  snapshot_id INTEGER? one of them is NULL
-- @col    snapshot_id  INTEGER
-- @col    rank         INTEGER?
-- @col    blocks       BIGINT
-- @col    total_bytes  BIGINT
-- @col    active_bytes BIGINT   in use, or waiting for a copy
-- @col    site         VARCHAR? where most of it was allocated
-- @col    site_bytes   BIGINT?
-- @needs  host_segment
-- @why    Torch keeps pinned blocks for reuse, rounded up to a power of two; what is pinned cannot be swapped out.
WITH block AS (
  SELECT segment.snapshot_id, snapshot.rank, segment.total_bytes, segment.active_bytes, stack.site
  FROM host_segment AS segment
  JOIN snapshot ON snapshot.snapshot_id = segment.snapshot_id
  LEFT JOIN stack ON stack.stack_id = segment.stack_id
  WHERE ($run_id IS NULL OR snapshot.run_id = $run_id) AND ($snapshot_id IS NULL OR segment.snapshot_id = $snapshot_id)),
site AS (
  SELECT snapshot_id, site, sum(total_bytes)::BIGINT AS bytes FROM block WHERE site IS NOT NULL GROUP BY ALL),
most AS (
  SELECT * FROM site QUALIFY row_number() OVER (PARTITION BY snapshot_id ORDER BY bytes DESC, site) = 1),
total AS (
  SELECT snapshot_id, rank, count(*) AS blocks, sum(total_bytes)::BIGINT AS total_bytes, sum(active_bytes)::BIGINT AS active_bytes
  FROM block GROUP BY ALL)
SELECT total.*, most.site, most.bytes AS site_bytes
FROM total LEFT JOIN most ON most.snapshot_id = total.snapshot_id
WHERE total.total_bytes > 0
ORDER BY total_bytes DESC, snapshot_id

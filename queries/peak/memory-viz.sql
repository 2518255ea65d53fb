-- @name   peak.memory_viz
-- @title  What memory_viz plots for one device: elements allocated before the first entry, and its highest total
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    freed_in_trace       BIGINT  frees of memory whose allocation was not recorded
-- @col    freed_in_trace_bytes BIGINT  requested
-- @col    ghosts               BIGINT  allocated blocks of the dump that the trace did not allocate
-- @col    ghost_bytes          BIGINT  requested, actual if the file lacks the requested size
-- @col    peak_delta_bytes     BIGINT? largest total after an entry, from zero; NULL without entries
-- @why    Upstream: torch/utils/viz/MemoryViz.js, process_alloc_data. Blocks that wait for other streams are not drawn.
WITH trace AS (
  SELECT seq, action, addr, lag(action) OVER (PARTITION BY addr ORDER BY seq) = 'alloc' AND addr IS NOT NULL AS follows_alloc
  FROM event
  WHERE snapshot_id = $snapshot_id AND device = $device AND action IN ('alloc', 'free_completed')
), held AS (
  SELECT unmatched_free_bytes, requested_delta_peak_bytes FROM snapshot_device WHERE snapshot_id = $snapshot_id AND device = $device
), still_open AS (
  SELECT addr FROM trace GROUP BY addr HAVING arg_max(action, seq) = 'alloc'
), ghosts AS (
  SELECT coalesce(requested_bytes, size_bytes) AS bytes
  FROM block
  WHERE snapshot_id = $snapshot_id AND device = $device AND state = 'active_allocated' AND address NOT IN (SELECT addr FROM still_open)
)
SELECT
  (SELECT count(*) FROM trace WHERE action = 'free_completed' AND follows_alloc IS NOT TRUE) AS freed_in_trace,
  coalesce((SELECT any_value(unmatched_free_bytes) FROM held), 0)::BIGINT AS freed_in_trace_bytes,
  (SELECT count(*) FROM ghosts) AS ghosts,
  (SELECT coalesce(sum(bytes), 0)::BIGINT FROM ghosts) AS ghost_bytes,
  (SELECT any_value(requested_delta_peak_bytes) FROM held WHERE EXISTS (FROM trace)) AS peak_delta_bytes
LIMIT 1

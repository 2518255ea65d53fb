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
  SELECT seq, action, addr, size_bytes, alloc_seq, requested_delta_bytes
  FROM event
  WHERE snapshot_id = $snapshot_id AND device = $device AND action IN ('alloc', 'free_completed')
), still_open AS (
  SELECT addr FROM trace GROUP BY addr HAVING arg_max(action, seq) = 'alloc'
), ghosts AS (
  SELECT coalesce(requested_bytes, size_bytes) AS bytes
  FROM block
  WHERE snapshot_id = $snapshot_id AND device = $device AND state = 'active_allocated' AND address NOT IN (SELECT addr FROM still_open)
)
SELECT
  (SELECT count(*) FROM trace WHERE action = 'free_completed' AND alloc_seq IS NULL) AS freed_in_trace,
  (SELECT coalesce(sum(size_bytes), 0)::BIGINT FROM trace WHERE action = 'free_completed' AND alloc_seq IS NULL) AS freed_in_trace_bytes,
  (SELECT count(*) FROM ghosts) AS ghosts,
  (SELECT coalesce(sum(bytes), 0)::BIGINT FROM ghosts) AS ghost_bytes,
  (SELECT max(requested_delta_bytes) FROM trace) AS peak_delta_bytes
LIMIT 1

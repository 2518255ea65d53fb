-- @name   profiler.timelines
-- @title  Memory timelines of torch.profiler, by rank and file
-- @param  run_id INTEGER
-- @col    source_id     INTEGER
-- @col    display_path  VARCHAR  file, relative to the run
-- @col    rank          INTEGER?
-- @col    entries       BIGINT   events, or points in time; 0 for an empty timeline
-- @col    has_actions   BOOLEAN? whether it lists events rather than sums; NULL for an empty timeline
-- @col    first_time_us BIGINT?
-- @col    last_time_us  BIGINT?
-- @why    Which timelines a run has, and over which time.
SELECT
  source.source_id, source.display_path, source.rank, count(DISTINCT memory.ordinal) AS entries,
  bool_or(memory.action IS NOT NULL) FILTER (memory.ordinal IS NOT NULL) AS has_actions,
  min(memory.time_ns) // 1000 AS first_time_us, max(memory.time_ns) // 1000 AS last_time_us
FROM source
LEFT JOIN profiler_memory AS memory USING (source_id)
WHERE source.run_id = $run_id AND source.format = 'profiler-timeline' AND source.status = 'ingested'
GROUP BY source.source_id, source.display_path, source.rank
ORDER BY source.rank NULLS FIRST, source.display_path

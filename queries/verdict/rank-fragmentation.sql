-- @name   verdict.rank_fragmentation
-- @title  What the rank that failed reserves beyond what is in use, and what the other ranks do
-- @param  run_id   INTEGER
-- @param  run_ids  VARCHAR  the same
-- @param  most     INTEGER  ranks whose states are compared
-- @param  ranks   VARCHAR? NULL: the memory lines of all ranks
-- @param  attempts VARCHAR? the judged launch
-- @param  failed_rank INTEGER
-- @uses   _run.run_threshold
-- @uses   log.memory_ranks
-- @uses   verdict.rank_states
-- @col    from           VARCHAR  snapshot: states; log: the largest figures of memory lines
-- @col    moment         VARCHAR  oom, peak, dump or lines
-- @col    reserved_bytes BIGINT   of the failed rank
-- @col    active_bytes   BIGINT
-- @col    gap_bytes      BIGINT
-- @col    ranks          BIGINT   others
-- @col    least          BIGINT   of their gaps
-- @col    median         BIGINT   of an even number the larger of the two in the middle
-- @col    most           BIGINT
-- @col    most_rank      INTEGER
-- @col    only_failed    BOOLEAN?
-- @why    States are compared with states, and memory lines with memory lines: a gap at an OOM is not comparable with one between two
--         largest figures. Where half of the others have at least half its gap, other ranks are fragmented too.
WITH gap AS (
  SELECT 'snapshot' AS source, rank, moment,
    (SELECT coalesce(sum(total_bytes), 0)::BIGINT FROM segment_life AS life WHERE life.snapshot_id = state.snapshot_id
      AND life.device = state.device AND life.from_seq <= state.seq AND life.to_seq > state.seq) AS reserved_bytes,
    (SELECT coalesce(sum(actual_bytes), 0)::BIGINT FROM block_life AS life WHERE life.snapshot_id = state.snapshot_id
      AND life.device = state.device AND life.from_seq <= state.seq AND life.to_seq > state.seq) AS active_bytes
  FROM rank_states AS state
  UNION ALL
  SELECT 'log', rank, 'lines', arg_max(max_bytes, coalesce(device, -1)) FILTER (metric = 'max_reserved') AS reserved_bytes,
    arg_max(max_bytes, coalesce(device, -1)) FILTER (metric = 'max_allocated') AS active_bytes
  FROM memory_ranks
  WHERE rank IS NOT NULL
  GROUP BY rank
  HAVING active_bytes <= reserved_bytes),
other AS (
  SELECT source, list({bytes: reserved_bytes - active_bytes, rank: rank} ORDER BY reserved_bytes - active_bytes, rank DESC) AS gaps,
    gaps[1].bytes AS least, gaps[len(gaps) // 2 + 1].bytes AS median, gaps[-1].bytes AS most, gaps[-1].rank AS most_rank
  FROM gap WHERE rank <> $failed_rank GROUP BY source)
SELECT source AS "from", moment, reserved_bytes, active_bytes, reserved_bytes - active_bytes AS gap_bytes, len(gaps) AS ranks,
  least, median, most, most_rank,
  CASE WHEN gap_bytes >= alone_factor * most AND gap_bytes >= alone_share * reserved_bytes THEN true
    WHEN alone_factor * median >= gap_bytes THEN false END AS only_failed
FROM gap JOIN other USING (source) CROSS JOIN run_threshold
WHERE rank = $failed_rank
ORDER BY source = 'log'
LIMIT 1

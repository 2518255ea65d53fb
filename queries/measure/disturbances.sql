-- @name   measure.disturbances
-- @title  What made a run slow, or its memory odd, without its code being to blame
-- @param  run_id  INTEGER
-- @param  prefix  VARCHAR?  straggler.
-- @param  most    BIGINT?
-- @param  attempt INTEGER?
-- @param  median_ms DOUBLE?  of its steady steps
-- @param  spread_ms DOUBLE?
-- @param  retries DOUBLE?  the most flushes of the cache of a rank
-- @uses   _run.run_threshold
-- @uses   log.values
-- @col    kind        VARCHAR  straggler, throttling, alloc_retries or uneven_steps
-- @col    sign        VARCHAR  detected, round_trip, clock, score, failure, retries, spread
-- @col    value       DOUBLE?  in the unit of the sign
-- @col    rank        INTEGER?
-- @col    other_value DOUBLE?  of the rank that it is compared with
-- @col    other_rank  INTEGER?
-- @col    text        VARCHAR? as printed
-- @col    file        VARCHAR?
-- @col    line        BIGINT?
-- @why    A bisection must not blame a commit for them.
WITH figure AS (FROM "values"),
pair AS (
  SELECT own.*, other.value AS other_value, other.rank AS other_rank
  FROM run_threshold, figure AS own JOIN figure AS other
    ON (own.name = 'straggler.max_round_trip' AND other.name = 'straggler.min_round_trip')
      OR (own.name = 'straggler.min_clock' AND other.name = 'straggler.max_clock')
  WHERE CASE own.name WHEN 'straggler.min_clock' THEN own.value < clock_share * other.value
    ELSE own.value > straggler_factor * other.value END),
sign AS (
  SELECT CASE name WHEN 'straggler.detected_relative' THEN 1 ELSE 2 END AS nth, 'straggler' AS kind, 'detected' AS sign, value, rank,
    NULL AS other_value, NULL AS other_rank, text, file, line
  FROM figure WHERE name IN ('straggler.detected_relative', 'straggler.detected_individual')
  UNION ALL SELECT 3, 'straggler', 'round_trip', value, rank, other_value, other_rank, NULL, file, line
  FROM pair WHERE name = 'straggler.max_round_trip'
  UNION ALL SELECT 4, 'throttling', 'clock', value, rank, other_value, other_rank, NULL, file, line
  FROM pair WHERE name = 'straggler.min_clock'
  UNION ALL (SELECT 5, 'straggler', 'score', value, rank, NULL, NULL, NULL, file, line
    FROM figure, run_threshold WHERE starts_with(name, 'straggler.score.') AND value < low_score ORDER BY name LIMIT 1)
  UNION ALL (SELECT 6, 'throttling', 'failure', NULL, NULL, NULL, NULL, incident.text, source.display_path, incident.line
    FROM incident JOIN source USING (source_id)
    WHERE source.run_id = $run_id AND incident.kind = 'hardware'
      AND regexp_matches(incident.text, '(?i)thrott|slowdown|power brake|Xid')
    ORDER BY source.attempt + coalesce(incident.attempt, 1), source.display_path, incident.line LIMIT 1)
  UNION ALL SELECT 7, 'alloc_retries', 'retries', $retries, NULL, NULL, NULL, NULL, NULL, NULL WHERE $retries > 0
  UNION ALL SELECT 8, 'uneven_steps', 'spread', 100 * $spread_ms / $median_ms, NULL, NULL, NULL, NULL, NULL, NULL
  FROM run_threshold WHERE $spread_ms > uneven_share * $median_ms)
SELECT kind, sign, value, rank, other_value, other_rank, text, file, line
FROM sign
QUALIFY sign <> 'score' OR count(*) FILTER (kind = 'straggler') OVER () = 1
ORDER BY nth

-- @name   log.memory_flags
-- @title  What in the memory lines of the ranks of a run is reported: retries, remainders, a large reserve, growth, imbalance
-- @param  run_ids VARCHAR
-- @param  ranks   VARCHAR?  only of these ranks, joined by commas
-- @param  attempts VARCHAR?
-- @uses   _run.run_threshold
-- @uses   log.memory_ranks
-- @col    kind     VARCHAR
-- @col    attempt  INTEGER
-- @col    ranks    INTEGER[] those with it; NULL: lines of unknown rank
-- @col    value    DOUBLE   of the first of them: times, or bytes
-- @col    of_bytes DOUBLE   what the bytes are compared with; 0 where nothing
-- @col    metric   VARCHAR? that grew
-- @col    r2       DOUBLE?
-- @col    first_iteration BIGINT?
-- @col    last_iteration  BIGINT?
-- @col    peaks    BIGINT   ranks that are compared
-- @why    Ranks of one launch with the same oddity are one row. A rank is compared with the median of the ranks, of two with the other.
WITH figures AS (
  SELECT attempt, rank, row_number() OVER (ORDER BY attempt, rank NULLS FIRST, device NULLS FIRST) AS place,
    max(max_value) FILTER (metric = 'alloc_retries') AS retries, max(max_value) FILTER (metric = 'ooms') AS ooms,
    coalesce(max(max_bytes) FILTER (metric = 'max_inactive_split'), max(max_bytes) FILTER (metric = 'inactive_split')) AS inactive,
    coalesce(max(max_bytes) FILTER (metric = 'max_reserved'), max(max_bytes) FILTER (metric = 'reserved')) AS reserved,
    max(max_bytes) FILTER (metric = 'max_allocated') AS allocated,
    arg_min({metric: metric, bytes: steady_bytes, r2: growth_r2, first_iteration: first_iteration, last_iteration: last_iteration}, metric)
      FILTER (metric IN ('allocated', 'reserved') AND steady_bytes IS NOT NULL) AS growth
  FROM memory_ranks
  GROUP BY attempt, rank, device),
compared AS (
  SELECT attempt, count(allocated) AS peaks, list_sort(list(allocated))[CASE WHEN peaks = 2 THEN 1 ELSE peaks // 2 + 1 END] AS bytes
  FROM figures
  WHERE rank IS NOT NULL AND allocated IS NOT NULL
  GROUP BY attempt
  HAVING count(*) > 1),
flag AS (
  SELECT 1 AS nth, 'alloc_retries' AS kind, attempt, rank, place, retries AS value, 0 AS of_bytes, NULL AS growth, 0 AS peaks
  FROM figures WHERE retries > 0
  UNION ALL SELECT 2, 'ooms', attempt, rank, place, ooms, 0, NULL, 0 FROM figures WHERE ooms > 0
  UNION ALL SELECT 3, 'inactive_split', attempt, rank, place, inactive, reserved, NULL, 0
  FROM figures, run_threshold WHERE inactive > inactive_share * reserved
  UNION ALL SELECT 4, 'reserved_far_above_allocated', attempt, rank, place, reserved, allocated, NULL, 0
  FROM figures, run_threshold WHERE reserved > reserved_factor * allocated AND reserved - allocated > reserved_bytes_above
  UNION ALL SELECT 5, 'growth', attempt, rank, place, growth.bytes, 0, growth, 0 FROM figures WHERE growth IS NOT NULL
  UNION ALL SELECT 6, 'imbalance', attempt, rank, place, allocated, bytes, NULL, peaks
  FROM figures JOIN compared USING (attempt), run_threshold
  WHERE rank IS NOT NULL AND bytes > 0 AND allocated > imbalance_factor * bytes)
SELECT kind, attempt, list(rank ORDER BY place) AS ranks, arg_min(value, place)::DOUBLE AS value,
  arg_min(of_bytes, place)::DOUBLE AS of_bytes,
  arg_min(growth, place).metric AS metric, arg_min(growth, place).r2 AS r2,
  arg_min(growth, place).first_iteration AS first_iteration, arg_min(growth, place).last_iteration AS last_iteration,
  any_value(peaks)::BIGINT AS peaks
FROM flag
GROUP BY nth, kind, attempt
ORDER BY kind = 'imbalance', min(place), nth

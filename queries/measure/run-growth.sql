-- @name   measure.run_growth
-- @title  The figure of a launch's memory lines that grows: in a straight line, else the peak that rose again and again
-- @param  run_ids  VARCHAR
-- @param  ranks    VARCHAR?
-- @param  attempts VARCHAR?
-- @param  total_bytes BIGINT?  of the device
-- @param  most     INTEGER  iterations that are named
-- @uses   _run.run_threshold
-- @uses   log.memory_ranks
-- @uses   measure.run_peak
-- @col    metric        VARCHAR   as `log memory` names it
-- @col    rank          INTEGER?
-- @col    rises         BIGINT    how often it rose above all values before it
-- @col    at_iterations BIGINT[]  the last ones of these, ascending
-- @col    grown_bytes   BIGINT    in all
-- @col    bytes_per_iteration DOUBLE? of a straight line, where it grows steadily
-- @col    full_at_iteration   BIGINT? when the peak reaches the device's total, growing on so; memory outside PyTorch is not counted
-- @needs  log_memory
-- @why    Live memory first: the reserve follows it. A figure that is a largest value rises in any run, at first. A slope does not show
--         whether memory grows from step to step or rose twice: the iterations do. Of the ranks, the one that is full first.
WITH line AS (
  SELECT memory_ranks.*, list_position(['allocated', 'active', 'reserved', 'max_allocated', 'max_reserved'], metric) AS nth,
    max(max_bytes) FILTER (CASE WHEN contains(metric, 'reserved') THEN metric IN ('max_reserved', 'reserved')
      ELSE metric IN ('max_allocated', 'max_active', 'allocated', 'active') END)
      OVER (PARTITION BY rank, device, contains(metric, 'reserved')) AS own_peak_bytes
  FROM memory_ranks),
steady AS (
  FROM line WHERE steady_bytes IS NOT NULL AND nth IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY rank, device ORDER BY nth) = 1),
foretold AS (
  SELECT steady.*, coalesce(peak.total_bytes, peak.bytes + peak.headroom_bytes) - own_peak_bytes AS left_bytes,
    CASE WHEN left_bytes IS NOT NULL THEN ceil(last_iteration + greatest(0, left_bytes) / steady_bytes)::BIGINT END AS full_at
  FROM steady CROSS JOIN run_peak AS peak),
candidate AS (
  (SELECT 1 AS choice, rank, metric, steady_bytes, full_at FROM foretold
    ORDER BY full_at NULLS LAST, steady_bytes DESC, rank NULLS FIRST, device NULLS FIRST LIMIT 1)
  UNION ALL
  (SELECT 2, line.rank, line.metric, NULL, NULL
    FROM line JOIN run_peak AS peak ON peak.rank IS NOT DISTINCT FROM line.rank
    WHERE list_contains(CASE peak.of WHEN 'reserved' THEN ['max_reserved'] ELSE ['max_active', 'max_allocated'] END, line.metric)
    ORDER BY line.device NULLS FIRST, line.metric LIMIT 1)),
figure AS (
  SELECT candidate.choice, log.iteration, max(log.bytes) AS bytes
  FROM log_memory AS log
  JOIN source USING (source_id)
  JOIN text_value AS metric ON metric.text_id = log.metric_id
  JOIN candidate ON candidate.metric = metric.text AND candidate.rank IS NOT DISTINCT FROM coalesce(log.rank, source.rank)
  WHERE source.run_id = $run_ids::INTEGER AND source.attempt + log.attempt - 1 = $attempts::INTEGER AND log.iteration IS NOT NULL
    AND log.bytes IS NOT NULL
  GROUP BY candidate.choice, log.iteration),
ordered AS (
  SELECT *, max(bytes) OVER (PARTITION BY choice ORDER BY iteration ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM figure),
rise AS (
  SELECT choice, count(*) AS rises, sum(bytes - before)::BIGINT AS grown_bytes, list_sort(max(iteration, $most)) AS at_iterations
  FROM ordered WHERE bytes > before GROUP BY choice)
SELECT candidate.metric, candidate.rank, rise.rises, rise.at_iterations, rise.grown_bytes, candidate.steady_bytes AS bytes_per_iteration,
  candidate.full_at AS full_at_iteration
FROM candidate
JOIN rise USING (choice)
CROSS JOIN run_threshold
CROSS JOIN run_peak AS peak
WHERE CASE choice WHEN 1 THEN rises >= least_rises ELSE grown_bytes >= least_grown * peak.bytes END
ORDER BY choice
LIMIT 1

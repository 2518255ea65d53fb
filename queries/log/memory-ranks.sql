-- @name   log.memory_ranks
-- @title  Memory figures per attempt, rank, device and metric: last, largest, growth
-- @param  run_ids VARCHAR  of runs, joined by commas
-- @param  ranks   VARCHAR?  only of these ranks, joined by commas; -1: lines without a rank
-- @param  attempts VARCHAR?  one launch of each run, in their order; NULL: all launches
-- @uses   _run.run_threshold
-- @col    run_id          INTEGER
-- @col    attempt         INTEGER
-- @col    rank            INTEGER?
-- @col    device          INTEGER?
-- @col    metric          VARCHAR
-- @col    samples         BIGINT
-- @col    first_iteration BIGINT?
-- @col    last_iteration  BIGINT?
-- @col    last_bytes      BIGINT?  NULL for counts
-- @col    max_bytes       BIGINT?
-- @col    last_value      DOUBLE   as printed
-- @col    max_value       DOUBLE
-- @col    display_path    VARCHAR  of the last figure
-- @col    line            BIGINT
-- @col    first_bytes     BIGINT?  of the first sampled iteration
-- @col    growth_samples  BIGINT   iterations sampled after the first one
-- @col    growth_first_iteration BIGINT? of these
-- @col    growth_first_bytes BIGINT?
-- @col    growth_bytes    DOUBLE?  per iteration, least squares over these
-- @col    r2              DOUBLE?
-- @col    growth_late_bytes BIGINT? of the later half of these iterations; NULL with fewer than four
-- @col    growth_bytes_per_iteration DOUBLE? growth_bytes, if it is of enough iterations (run_threshold.fewest_samples)
-- @col    growth_r2       DOUBLE?  of it: share of the variance that a straight line explains; NULL for a flat line
-- @col    steady_bytes    DOUBLE?  growth_bytes_per_iteration, if it is a straight line, and more than nothing
-- @needs  log_memory
-- @why    Growth leaves out the first sampled iteration: optimizer states are born there, which is a step and no trend. Launches are chosen
--         before anything is counted: a log of hundreds of launches has millions of figures, of which one launch's are asked for.
WITH
asked AS (
  SELECT unnest(string_split($run_ids, ',')::INTEGER[]) AS run_id, unnest(string_split($attempts, ',')::INTEGER[]) AS attempt),
samples AS (
  SELECT source.run_id, source.attempt + log.attempt - 1 AS attempt, coalesce(log.rank, source.rank) AS rank, log.device, log.metric_id,
    log.iteration, log.bytes, log.value, log.rowid AS place, source.display_path, log.line::BIGINT AS line,
    min(log.iteration) OVER (PARTITION BY source.run_id, source.attempt + log.attempt, coalesce(log.rank, source.rank), log.device,
      log.metric_id) AS first_iteration,
    median(log.iteration) OVER (PARTITION BY source.run_id, source.attempt + log.attempt, coalesce(log.rank, source.rank), log.device,
      log.metric_id) AS middle_iteration
  FROM log_memory AS log
  JOIN source USING (source_id)
  JOIN asked ON asked.run_id = source.run_id AND (asked.attempt IS NULL OR asked.attempt = source.attempt + log.attempt - 1)
  WHERE coalesce(list_contains(string_split($ranks, ',')::INTEGER[], coalesce(log.rank, source.rank, -1)), true))
SELECT run_id, attempt, rank, device, metric.text AS metric, samples,
  grouped.first_iteration, last_iteration, last_bytes, max_bytes, last_value, max_value, display_path, line, first_bytes,
  growth_samples, growth_first_iteration, growth_first_bytes, growth_bytes, r2,
  CASE WHEN growth_samples >= 4 THEN last_bytes - growth_middle_bytes END AS growth_late_bytes,
  CASE WHEN growth_samples >= fewest_samples AND isfinite(growth_bytes) THEN growth_bytes END AS growth_bytes_per_iteration,
  CASE WHEN growth_bytes_per_iteration IS NOT NULL AND isfinite(r2) THEN r2 END AS growth_r2,
  CASE WHEN growth_r2 >= least_r2 AND growth_bytes > 0 AND growth_bytes >= least_slope * last_bytes THEN growth_bytes END AS steady_bytes
FROM (
  SELECT run_id, attempt, rank, device, metric_id, count(*) AS samples, min(iteration) AS first_iteration,
    max(iteration) AS last_iteration, arg_max(bytes, place) AS last_bytes, max(bytes) AS max_bytes,
    arg_max(value, place) AS last_value, max(value) AS max_value,
    arg_max(display_path, place) AS display_path, arg_max(line, place) AS line,
    arg_min(bytes, iteration) AS first_bytes,
    min(iteration) FILTER (iteration > first_iteration) AS growth_first_iteration,
    arg_min(bytes, iteration) FILTER (iteration > first_iteration) AS growth_first_bytes,
    count(DISTINCT iteration) FILTER (iteration > first_iteration) AS growth_samples,
    regr_slope(bytes, iteration) FILTER (iteration > first_iteration) AS growth_bytes,
    regr_r2(bytes, iteration) FILTER (iteration > first_iteration) AS r2,
    arg_max(bytes, iteration) FILTER (iteration > first_iteration AND iteration <= middle_iteration) AS growth_middle_bytes
  FROM samples
  GROUP BY run_id, attempt, rank, device, metric_id) AS grouped
JOIN text_value AS metric ON metric.text_id = grouped.metric_id
CROSS JOIN run_threshold
ORDER BY run_id, attempt, rank NULLS FIRST, device NULLS FIRST, metric

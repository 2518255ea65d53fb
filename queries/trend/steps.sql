-- @name   trend.steps
-- @title  Step time, throughput and loss of all runs, each of its last launch that printed iterations
-- @col    run_id         INTEGER
-- @col    last_iteration BIGINT?
-- @col    steady         BIGINT   lines with a step time, without the first line of the launch
-- @col    step_ms        DOUBLE?  their median
-- @col    steady_tflops  BIGINT   lines with a throughput, likewise
-- @col    tflops_per_gpu DOUBLE?
-- @col    loss           DOUBLE?  of the last line that prints one; may be NaN
-- @why    The first line of a launch includes compilation and autotuning. A line may be in the file of its node and in that of all nodes;
--         it counts once, as in iteration_lines. Lines without a clock and a step time never count as copies. If metrics (event files,
--         W&B) contain more iterations, their rows are used.
WITH
  launches AS (
    SELECT source.run_id, max(source.attempt + log.attempt - 1) AS attempt FROM log_iteration AS log JOIN source USING (source_id)
      GROUP BY source.run_id),
  launch_lines AS (
    SELECT source.run_id, source.source_id, source.source_id IN (FROM metrics_sources) AS is_metrics, source.display_path, log.line,
      log.rowid AS place, log.iteration, log.step_ms, log.time_us, log.loss, log.grad_norm, log.consumed_samples, log.tflops_per_gpu,
      row_number() OVER (PARTITION BY log.source_id, log.attempt, log.iteration, log.step_ms, log.time_us, log.loss, log.grad_norm,
        log.consumed_samples ORDER BY log.line, log.rowid) AS nth_alike,
      CASE WHEN log.time_us IS NULL AND log.step_ms IS NULL THEN log.rowid END AS unique_row
    FROM log_iteration AS log
    JOIN source USING (source_id)
    JOIN launches ON launches.run_id = source.run_id AND launches.attempt = source.attempt + log.attempt - 1),
  runs_from_metrics AS (
    SELECT run_id
    FROM (SELECT run_id, count(DISTINCT iteration) AS iterations FROM launch_lines WHERE is_metrics GROUP BY run_id)
    LEFT JOIN (SELECT run_id, count(DISTINCT iteration) AS printed FROM launch_lines WHERE NOT is_metrics GROUP BY run_id) USING (run_id)
    WHERE iterations > coalesce(printed, 0)),
  lines AS (
    SELECT run_id, iteration, step_ms, tflops_per_gpu, loss, display_path, line, place FROM launch_lines
      ANTI JOIN runs_from_metrics USING (run_id)
    WHERE NOT is_metrics
    QUALIFY row_number() OVER (PARTITION BY run_id, iteration, step_ms, time_us, loss, grad_norm, consumed_samples, nth_alike, unique_row
      ORDER BY display_path, line, place) = 1
    UNION ALL
    -- What the metrics leave out of an iteration is taken from the log.
    SELECT run_id, iteration, arg_max(step_ms, is_metrics::INTEGER), arg_max(tflops_per_gpu, is_metrics::INTEGER),
      arg_max(loss, is_metrics::INTEGER), '', min(iteration), min(place)
    FROM launch_lines SEMI JOIN runs_from_metrics USING (run_id)
    GROUP BY run_id, iteration),
  ordered AS (
    SELECT run_id, iteration, CASE WHEN isfinite(step_ms) THEN step_ms END AS step_ms,
      CASE WHEN isfinite(tflops_per_gpu) THEN tflops_per_gpu END AS tflops, loss,
      row_number() OVER (PARTITION BY run_id ORDER BY display_path, line, place) AS nth
    FROM lines)
SELECT run_id, max(iteration) AS last_iteration, count(step_ms) FILTER (nth > 1) AS steady, median(step_ms) FILTER (nth > 1) AS step_ms,
  count(tflops) FILTER (nth > 1) AS steady_tflops, median(tflops) FILTER (nth > 1) AS tflops_per_gpu, arg_max(loss, nth) AS loss
FROM ordered
GROUP BY run_id
ORDER BY run_id

-- @name   log.iteration_summary
-- @title  Statistics of iteration lines, per attempt and (attempt NULL) of the whole run
-- @param  run_id INTEGER
-- @col    attempt             INTEGER?
-- @col    count               BIGINT   lines
-- @col    copies              BIGINT   of them in other files
-- @col    distinct_iterations BIGINT
-- @col    first               BIGINT?  iteration of the first line, in the order of attempts, files and lines
-- @col    last                BIGINT?
-- @col    lowest              BIGINT?
-- @col    highest             BIGINT?
-- @col    target              BIGINT?  as the last line has it
-- @col    rises_in_attempts   BOOLEAN? every iteration is above the one before it in its attempt
-- @col    rises               BOOLEAN? and above the one before it anywhere
-- @col    timed               BIGINT   lines with a step time
-- @col    median_ms           DOUBLE?
-- @col    mean_ms             DOUBLE?
-- @col    p95_ms              DOUBLE?
-- @col    min_ms              DOUBLE?
-- @col    max_ms              DOUBLE?
-- @col    steady_timed        BIGINT   without the first line of each attempt
-- @col    steady_median_ms    DOUBLE?
-- @col    steady_mean_ms      DOUBLE?
-- @col    steady_p95_ms       DOUBLE?
-- @col    steady_min_ms       DOUBLE?
-- @col    steady_max_ms       DOUBLE?
-- @col    left_out            BIGINT   first lines of attempts
-- @col    median_tflops       DOUBLE?
-- @col    steady_median_tflops DOUBLE?
-- @col    steady_mean_tflops  DOUBLE?
-- @col    last_loss           DOUBLE?  NULL if it is NaN or infinity
-- @col    skipped_iterations  BIGINT?
-- @col    nan_iterations      BIGINT?
-- @why    The first line of a launch includes compilation, autotuning and the allocation of optimizer states. It is not representative of a
--         step, so every statistic exists with and without it. Step times of NaN or infinity are ignored.
WITH
  lines AS (
    SELECT attempt, display_path, line, place, iteration, target_iterations, CASE WHEN isfinite(step_ms) THEN step_ms END AS step_ms,
      CASE WHEN isfinite(tflops_per_gpu) THEN tflops_per_gpu END AS tflops, loss, skipped_iterations, nan_iterations, copies
    FROM iteration_lines($run_id) AS iteration_lines),
  ordered AS (
    SELECT *, row_number() OVER (ORDER BY attempt, display_path, line, place) AS nth,
      row_number() OVER (PARTITION BY attempt ORDER BY display_path, line, place) AS nth_in_attempt,
      lag(iteration) OVER (ORDER BY attempt, display_path, line, place) AS before,
      lag(iteration) OVER (PARTITION BY attempt ORDER BY display_path, line, place) AS before_in_attempt
    FROM lines)
SELECT
  attempt,
  count(*) AS count,
  coalesce(sum(copies), 0)::BIGINT AS copies,
  count(DISTINCT iteration) AS distinct_iterations,
  arg_min(iteration, nth) AS first,
  arg_max(iteration, nth) AS last,
  min(iteration) AS lowest,
  max(iteration) AS highest,
  arg_max(target_iterations, nth) AS target,
  bool_and(before_in_attempt IS NULL OR iteration > before_in_attempt) AS rises_in_attempts,
  bool_and(before IS NULL OR iteration > before) AS rises,
  count(step_ms) AS timed,
  median(step_ms) AS median_ms,
  avg(step_ms) AS mean_ms,
  quantile_cont(step_ms, 0.95) AS p95_ms,
  min(step_ms) AS min_ms,
  max(step_ms) AS max_ms,
  count(step_ms) FILTER (nth_in_attempt > 1) AS steady_timed,
  median(step_ms) FILTER (nth_in_attempt > 1) AS steady_median_ms,
  avg(step_ms) FILTER (nth_in_attempt > 1) AS steady_mean_ms,
  quantile_cont(step_ms, 0.95) FILTER (nth_in_attempt > 1) AS steady_p95_ms,
  min(step_ms) FILTER (nth_in_attempt > 1) AS steady_min_ms,
  max(step_ms) FILTER (nth_in_attempt > 1) AS steady_max_ms,
  count(*) FILTER (nth_in_attempt = 1) AS left_out,
  median(tflops) AS median_tflops,
  median(tflops) FILTER (nth_in_attempt > 1) AS steady_median_tflops,
  avg(tflops) FILTER (nth_in_attempt > 1) AS steady_mean_tflops,
  CASE WHEN isfinite(arg_max(loss, nth)) THEN arg_max(loss, nth) END AS last_loss,
  sum(skipped_iterations)::BIGINT AS skipped_iterations,
  sum(nan_iterations)::BIGINT AS nan_iterations
FROM ordered
GROUP BY GROUPING SETS ((attempt), ())
ORDER BY attempt NULLS FIRST

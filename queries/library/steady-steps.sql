-- @name   library.steady_steps
-- @kind   macro
-- @title  How fast a run is: its iterations after warm-up, of the last launch that printed any
-- @param  run_key INTEGER  run_id
-- @col    first_iteration BIGINT?
-- @col    last_iteration  BIGINT?
-- @col    iterations      BIGINT
-- @col    independent     DOUBLE?  as many steps drawn at random have the same error of the median: fewer where neighbours are alike
-- @col    median_ms       DOUBLE?
-- @col    spread_ms       DOUBLE?  interquartile range / 1.349: the standard deviation, were they normal
-- @col    median_tflops   DOUBLE?  per GPU
-- @col    spread_tflops   DOUBLE?
-- @why    The first line of a launch includes compilation. The leading lines after it that take 15 % longer than the later half of the run
--         are warm-up, at most two fifths of them. Single long iterations (evaluation, checkpoints) do not move the median.
WITH line AS (
  SELECT *, row_number() OVER (ORDER BY display_path, printed.line, place) - 2 AS nth
  FROM (
    SELECT * FROM iteration_lines(run_key) AS every QUALIFY attempt = max(attempt) OVER ()) AS printed
  WHERE isfinite(step_ms) AND step_ms > 0),
timed AS (
  SELECT iteration, step_ms, CASE WHEN isfinite(tflops_per_gpu) THEN tflops_per_gpu END AS tflops, nth, count(*) OVER () AS lines
  FROM line
  WHERE nth >= 0),
settled AS (SELECT median(step_ms) FILTER (nth >= lines // 2) AS ms FROM timed),
steady AS (
  SELECT timed.*
  FROM timed
  WHERE nth >= (
    SELECT min(warm.nth) FROM timed AS warm, settled WHERE warm.nth >= floor(warm.lines * 0.4) OR warm.step_ms <= settled.ms * 1.15)),
whole AS (
  SELECT median(step_ms) AS centre, (quantile_cont(step_ms, 0.75) - quantile_cont(step_ms, 0.25)) / 1.349 AS spread FROM steady),
-- Single long iterations count as three standard deviations.
deviation AS (
  SELECT nth, greatest(-3 * spread, least(3 * spread, step_ms - centre)) AS off, lag(off) OVER (ORDER BY nth) AS off_before
  FROM steady CROSS JOIN whole),
likeness AS (
  SELECT coalesce(sum(off * off_before) / nullif(sum(off * off), 0), 0) AS alike, count(*) AS n FROM deviation)
SELECT
  arg_min(iteration, nth) AS first_iteration, arg_max(iteration, nth) AS last_iteration, count(*) AS iterations,
  (SELECT CASE WHEN alike > 2 / sqrt(n) THEN n * (1 - alike) / (1 + alike) ELSE n END FROM likeness) AS independent,
  median(step_ms) AS median_ms,
  CASE WHEN count(*) < 2 THEN 0 ELSE (quantile_cont(step_ms, 0.75) - quantile_cont(step_ms, 0.25)) / 1.349 END AS spread_ms,
  median(tflops) AS median_tflops,
  CASE count(tflops) WHEN 0 THEN NULL WHEN 1 THEN 0 ELSE (quantile_cont(tflops, 0.75) - quantile_cont(tflops, 0.25)) / 1.349 END
    AS spread_tflops
FROM steady
HAVING count(*) > 0

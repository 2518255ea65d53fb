-- @name   library.steady_window
-- @kind   macro
-- @title  How fast iterations are after warm-up
-- @param  line_list STRUCT[]  of {iteration, step_ms, tflops}: the lines of one launch, in their order
-- @col    first_iteration BIGINT
-- @col    last_iteration  BIGINT
-- @col    iterations      BIGINT
-- @col    independent     DOUBLE   as many steps drawn at random have the same error of the median: fewer where neighbours are alike
-- @col    warm_up         BIGINT   lines with a step time before the first iteration
-- @col    median_ms       DOUBLE
-- @col    spread_ms       DOUBLE   interquartile range, scaled to the standard deviation of a normal distribution; 0 of one iteration
-- @col    min_ms          DOUBLE
-- @col    max_ms          DOUBLE
-- @col    median_tflops   DOUBLE?  per GPU
-- @col    spread_tflops   DOUBLE?
-- @why    The first line of a launch includes compilation and autotuning. The leading lines after it that take longer than the later half
--         of the run are warm-up, as far as check_threshold allows. Single long iterations (evaluation, checkpoints) do not move the
--         median, nor the range between the quartiles; the median absolute deviation would be 0 where more than half of the values agree.
--         No row without a time after the first line. A list, since golden values of upstream projects are in no store.
WITH line AS (
  SELECT *, row_number() OVER (ORDER BY place) - 2 AS nth
  FROM (
    SELECT generate_subscripts(lines, 1) AS place, unnest(lines, max_depth := 2)
    FROM (SELECT line_list::STRUCT(iteration BIGINT, step_ms DOUBLE, tflops DOUBLE)[] AS lines) AS listed) AS printed
  WHERE step_ms > 0),
timed AS (
  SELECT iteration, step_ms, tflops, nth, count(*) OVER () AS lines FROM line WHERE nth >= 0),
settled AS (SELECT median(step_ms) FILTER (nth >= lines // 2) AS ms FROM timed),
steady AS (
  SELECT timed.*
  FROM timed
  WHERE nth >= (
    SELECT min(warm.nth) FROM timed AS warm, settled, check_threshold
    WHERE warm.nth >= floor(warm.lines * most_warm_up) OR warm.step_ms <= settled.ms * warm_up_ratio)),
whole AS (
  SELECT median(step_ms) AS centre, (quantile_cont(step_ms, 0.75) - quantile_cont(step_ms, 0.25)) / any_value(quartile_range) AS spread,
    (quantile_cont(tflops, 0.75) - quantile_cont(tflops, 0.25)) / any_value(quartile_range) AS flops_spread
  FROM steady CROSS JOIN check_threshold),
deviation AS (
  SELECT nth, greatest(-most_off * spread, least(most_off * spread, step_ms - centre)) AS off, lag(off) OVER (ORDER BY nth) AS off_before
  FROM steady CROSS JOIN whole CROSS JOIN check_threshold),
likeness AS (
  SELECT coalesce(sum(off * off_before) / nullif(sum(off * off), 0), 0) AS alike, count(*) AS n FROM deviation)
SELECT
  arg_min(iteration, nth) AS first_iteration, arg_max(iteration, nth) AS last_iteration, count(*) AS iterations,
  (SELECT CASE WHEN alike > 2 / sqrt(n) THEN n * (1 - alike) / (1 + alike) ELSE n END FROM likeness) AS independent,
  1 + min(nth) AS warm_up, median(step_ms) AS median_ms, (SELECT spread FROM whole) AS spread_ms, min(step_ms) AS min_ms,
  max(step_ms) AS max_ms, median(tflops) AS median_tflops, (SELECT flops_spread FROM whole) AS spread_tflops
FROM steady
HAVING count(*) > 0

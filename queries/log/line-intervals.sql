-- @name   log.line_intervals
-- @title  Time between iteration lines, per iteration
-- @param  run_id INTEGER
-- @col    median_ms DOUBLE?
-- @col    count     BIGINT   pairs of lines
-- @needs  log_iteration
-- @why    A trainer that prints no step time may print the wall clock in front of its lines.
WITH lines AS (
  SELECT iteration, time_us,
    lag(iteration) OVER (PARTITION BY attempt, display_path, rank ORDER BY line, place) AS iteration_before,
    lag(time_us) OVER (PARTITION BY attempt, display_path, rank ORDER BY line, place) AS time_before
  FROM iteration_lines($run_id) AS iteration_lines)
SELECT median((time_us - time_before) / 1e3 / (iteration - iteration_before)) AS median_ms, count(*) AS count
FROM lines
WHERE iteration > iteration_before AND time_us > time_before
HAVING count(*) > 0
LIMIT 1

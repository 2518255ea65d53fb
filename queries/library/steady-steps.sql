-- @name   library.steady_steps
-- @kind   macro
-- @title  How fast a run is: its iterations after warm-up, of the last launch that printed any
-- @param  run_key INTEGER  run_id
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
-- @why    The window is that of steady_window. A step time of NaN or infinity is none.
SELECT steady.*
FROM steady_window((
  SELECT list({
    'iteration': iteration, 'step_ms': CASE WHEN isfinite(step_ms) THEN step_ms END,
    'tflops': CASE WHEN isfinite(tflops_per_gpu) THEN tflops_per_gpu END} ORDER BY display_path, newest.line, place)
  FROM (SELECT * FROM iteration_lines(run_key) AS every QUALIFY attempt = max(attempt) OVER ()) AS newest)) AS steady

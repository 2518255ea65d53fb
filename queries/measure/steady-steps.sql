-- @name   measure.steady_steps
-- @title  How fast the last launch that printed iterations is, after warm-up
-- @param  run_id INTEGER
-- @col    first_iteration BIGINT?
-- @col    last_iteration  BIGINT?
-- @col    iterations      BIGINT
-- @col    median_ms       DOUBLE?
-- @col    median_tflops   DOUBLE?  per GPU
-- @why    steady_steps of the library.
SELECT first_iteration, last_iteration, iterations, median_ms, median_tflops FROM steady_steps($run_id) AS steady
LIMIT 1

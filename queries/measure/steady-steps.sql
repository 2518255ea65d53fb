-- @name   measure.steady_steps
-- @title  How fast the last launch that printed iterations is, after warm-up
-- @param  run_id INTEGER
-- @col    from            BIGINT   first iteration of the window
-- @col    to              BIGINT
-- @col    count           BIGINT
-- @of     steady_steps: independent warm_up median_ms spread_ms min_ms max_ms median_tflops spread_tflops
-- @needs  log_iteration
-- @why    steady_steps of the library.
SELECT first_iteration AS "from", last_iteration AS "to", iterations AS count,
  steady.* EXCLUDE (first_iteration, last_iteration, iterations)
FROM steady_steps($run_id) AS steady LIMIT 1

-- @name   measure.steady_steps
-- @title  How fast the last launch that printed iterations is, after warm-up
-- @param  run_id INTEGER
-- @col    from            BIGINT   first iteration of the window
-- @col    to              BIGINT
-- @col    count           BIGINT
-- @col    independent     DOUBLE  as many steps drawn at random have the same error of the median
-- @col    warm_up         BIGINT  lines before the window
-- @col    median_ms       DOUBLE
-- @col    spread_ms       DOUBLE  interquartile range / 1.349: the standard deviation, were they normal
-- @col    min_ms          DOUBLE
-- @col    max_ms          DOUBLE
-- @col    median_tflops   DOUBLE?  per GPU
-- @col    spread_tflops   DOUBLE?
-- @why    steady_steps of the library.
SELECT first_iteration AS "from", last_iteration AS "to", iterations AS count,
  steady.* EXCLUDE (first_iteration, last_iteration, iterations)
FROM steady_steps($run_id) AS steady LIMIT 1

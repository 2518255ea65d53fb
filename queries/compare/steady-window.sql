-- @name   compare.steady_window
-- @title  How fast iterations are after warm-up
-- @param  lines VARCHAR  JSON list of {iteration, step_ms, tflops}
-- @col    from            BIGINT   first iteration of the window
-- @col    to              BIGINT
-- @col    count           BIGINT
-- @of     steady_window: independent warm_up median_ms spread_ms min_ms max_ms median_tflops spread_tflops
-- @why    steady_window of the library: it reads no table.
SELECT first_iteration AS "from", last_iteration AS "to", iterations AS count,
  steady.* EXCLUDE (first_iteration, last_iteration, iterations)
FROM steady_window(from_json($lines::JSON, '[{"iteration": "BIGINT", "step_ms": "DOUBLE", "tflops": "DOUBLE"}]')) AS steady LIMIT 1

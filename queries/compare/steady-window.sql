-- @name   compare.steady_window
-- @title  How fast iterations are after warm-up
-- @param  lines VARCHAR  JSON list; see steady_window
-- @col    from            BIGINT   first iteration of the window
-- @col    to              BIGINT
-- @col    count           BIGINT
-- @col    independent     DOUBLE
-- @col    warm_up         BIGINT
-- @col    median_ms       DOUBLE
-- @col    spread_ms       DOUBLE
-- @col    min_ms          DOUBLE
-- @col    max_ms          DOUBLE
-- @col    median_tflops   DOUBLE?  per GPU
-- @col    spread_tflops   DOUBLE?
-- @why    steady_window of the library: it reads no table.
SELECT first_iteration AS "from", last_iteration AS "to", iterations AS count,
  steady.* EXCLUDE (first_iteration, last_iteration, iterations)
FROM steady_window($lines) AS steady LIMIT 1

-- @name   log.iterations
-- @title  Iteration lines in the order of attempts, files and lines
-- @param  run_id INTEGER
-- @param  newest BIGINT?  only so many of the last ones
-- @uses   _log.iteration_lines
-- @col    attempt            INTEGER
-- @col    iteration          BIGINT
-- @col    target_iterations  BIGINT?
-- @col    rank               INTEGER?
-- @col    step_ms            DOUBLE?
-- @col    tflops_per_gpu     DOUBLE?
-- @col    loss               DOUBLE?
-- @col    learning_rate      DOUBLE?
-- @col    grad_norm          DOUBLE?
-- @col    loss_scale         DOUBLE?
-- @col    global_batch_size  BIGINT?
-- @col    consumed_samples   BIGINT?
-- @col    skipped_iterations BIGINT?
-- @col    nan_iterations     BIGINT?
-- @col    time_us            BIGINT?
-- @col    display_path       VARCHAR
-- @col    line               INTEGER
-- @why    The end of a run is the most informative part, so a limit keeps the last lines.
SELECT attempt, iteration, target_iterations, rank, step_ms, tflops_per_gpu, loss, learning_rate, grad_norm, loss_scale, global_batch_size,
  consumed_samples, skipped_iterations, nan_iterations, time_us, display_path, line
FROM iteration_lines
QUALIFY $newest IS NULL OR row_number() OVER (ORDER BY attempt DESC, display_path DESC, line DESC, place DESC) <= $newest
ORDER BY attempt, display_path, line, place

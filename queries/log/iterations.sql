-- @name   log.iterations
-- @title  Iteration lines in the order of attempts, files and lines
-- @param  run_id INTEGER
-- @param  newest BIGINT?  only so many of the last ones
-- @of     iteration: attempt iteration rank step_ms tflops_per_gpu loss learning_rate grad_norm loss_scale global_batch_size
--         consumed_samples skipped_iterations nan_iterations time_us line
-- @col    target             BIGINT?  iterations of the run
-- @col    file               VARCHAR
-- @needs  log_iteration
-- @why    The end of a run is the most informative part, so a limit keeps the last lines. A figure of NaN or infinity is NULL: JSON cannot
--         hold it, and `nan_iterations` counts them.
SELECT attempt, iteration, target_iterations AS target, rank, CASE WHEN isfinite(step_ms) THEN step_ms END AS step_ms,
  CASE WHEN isfinite(tflops_per_gpu) THEN tflops_per_gpu END AS tflops_per_gpu, CASE WHEN isfinite(loss) THEN loss END AS loss,
  CASE WHEN isfinite(learning_rate) THEN learning_rate END AS learning_rate,
  CASE WHEN isfinite(grad_norm) THEN grad_norm END AS grad_norm, CASE WHEN isfinite(loss_scale) THEN loss_scale END AS loss_scale,
  global_batch_size, consumed_samples, skipped_iterations, nan_iterations, time_us, display_path AS file, line
FROM iteration_lines($run_id) AS iteration_lines
QUALIFY $newest IS NULL OR row_number() OVER (ORDER BY attempt DESC, display_path DESC, line DESC, place DESC) <= $newest
ORDER BY attempt, display_path, line, place

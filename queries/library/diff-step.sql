-- @name   library.diff_step
-- @kind   macro
-- @title  Step time, throughput and loss of two runs, by iteration
-- @param  left_run  VARCHAR  name of a run
-- @param  right_run VARCHAR
-- @col    iteration         BIGINT
-- @col    left_ms           DOUBLE?
-- @col    right_ms          DOUBLE?
-- @col    difference_ms     DOUBLE?  right less left
-- @col    left_tflops       DOUBLE?  per GPU
-- @col    right_tflops      DOUBLE?
-- @col    difference_tflops DOUBLE?
-- @col    left_loss         DOUBLE?
-- @col    right_loss        DOUBLE?
-- @col    difference_loss   DOUBLE?
-- @why    Of each run the last launch that printed iterations, of each iteration its last line; iterations that both have. A figure of NaN
--         or infinity is NULL. Iterations without a difference are left out. The first line of a launch includes compilation and
--         autotuning.
WITH line AS (
  SELECT false AS is_right, *
  FROM iteration_lines((SELECT run_id FROM run WHERE name = left_run)) AS printed
  UNION ALL
  SELECT true, * FROM iteration_lines((SELECT run_id FROM run WHERE name = right_run)) AS printed),
newest AS (
  SELECT
    is_right, iteration, CASE WHEN isfinite(step_ms) THEN step_ms END AS ms,
    CASE WHEN isfinite(tflops_per_gpu) THEN tflops_per_gpu END AS tflops,
    CASE WHEN isfinite(loss) THEN loss END AS loss
  FROM line
  QUALIFY attempt = max(attempt) OVER (PARTITION BY is_right)
    AND row_number() OVER (PARTITION BY is_right, attempt, iteration ORDER BY display_path DESC, line.line DESC, place DESC) = 1)
SELECT
  left_step.iteration, left_step.ms AS left_ms, right_step.ms AS right_ms, right_step.ms - left_step.ms AS difference_ms,
  left_step.tflops AS left_tflops, right_step.tflops AS right_tflops, right_step.tflops - left_step.tflops AS difference_tflops,
  left_step.loss AS left_loss, right_step.loss AS right_loss, right_step.loss - left_step.loss AS difference_loss
FROM newest AS left_step
JOIN newest AS right_step ON right_step.iteration = left_step.iteration AND right_step.is_right
WHERE NOT left_step.is_right AND (left_step.ms IS DISTINCT FROM right_step.ms OR left_step.tflops IS DISTINCT FROM right_step.tflops
  OR left_step.loss IS DISTINCT FROM right_step.loss)

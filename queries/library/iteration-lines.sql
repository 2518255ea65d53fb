-- @name   library.iteration_lines
-- @kind   macro
-- @title  Training iterations of a run, each once
-- @param  run_key INTEGER  run_id
-- @col    attempt            INTEGER
-- @col    display_path       VARCHAR
-- @col    line               INTEGER
-- @col    place              BIGINT   order of rows of one line
-- @col    rank               INTEGER?
-- @col    iteration          BIGINT
-- @col    target_iterations  BIGINT?
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
-- @col    copies             BIGINT   the same line in other files of the run
-- @why    Schedulers write one file per node and one of all nodes, so a line may occur in two files. Lines of one file never count as
--         copies, nor do lines without a clock and a step time: a repeated launch prints the same losses. Metrics (event files, W&B,
--         exports) contain the same iterations as the log. The rows of a launch come from metrics if these contain more of its iterations
--         than the log; values missing in the metrics are taken from the log. Of several files of metrics the one with the most iterations
--         is preferred.
WITH
  lines AS NOT MATERIALIZED (
    SELECT source.attempt + log.attempt - 1 AS attempt, source.display_path, log.rowid AS place, coalesce(log.rank, source.rank) AS rank,
      log.* EXCLUDE (attempt, rank), log.source_id IN (FROM metrics_sources) AS is_metrics
    FROM log_iteration AS log JOIN source USING (source_id)
    WHERE source.run_id = run_key),
  -- Launches in several files. Within one file no line is a copy, so no window over a million lines is needed.
  spread AS (SELECT attempt FROM lines WHERE NOT is_metrics GROUP BY attempt HAVING min(source_id) < max(source_id)),
  numbered AS (
    SELECT *, row_number() OVER (PARTITION BY source_id, attempt, iteration, step_ms, time_us, loss, grad_norm, consumed_samples
        ORDER BY line, place) AS nth,
      CASE WHEN time_us IS NULL AND step_ms IS NULL THEN place END AS unique_row
    FROM lines SEMI JOIN spread USING (attempt)
    WHERE NOT is_metrics),
  printed AS NOT MATERIALIZED (
    SELECT * EXCLUDE (nth, unique_row), count(*) OVER equal_lines - 1 AS copies
    FROM numbered
    WINDOW equal_lines AS (PARTITION BY attempt, iteration, step_ms, time_us, loss, grad_norm, consumed_samples, nth, unique_row)
    QUALIFY row_number() OVER (PARTITION BY attempt, iteration, step_ms, time_us, loss, grad_norm, consumed_samples, nth, unique_row
      ORDER BY display_path, line, place) = 1
    UNION ALL
    SELECT *, 0 FROM lines ANTI JOIN spread USING (attempt) WHERE NOT is_metrics),
  metric_rows AS (
    SELECT *, count(DISTINCT iteration) OVER (PARTITION BY attempt, source_id) AS source_iterations,
      count(DISTINCT iteration) OVER (PARTITION BY attempt) AS iterations
    FROM lines WHERE is_metrics),
  attempts_from_metrics AS (
    SELECT attempt FROM metric_rows LEFT JOIN (SELECT attempt, count(DISTINCT iteration) AS printed FROM printed
      GROUP BY attempt) USING (attempt)
    GROUP BY attempt
    HAVING any_value(iterations) > coalesce(any_value(printed), 0)),
  metrics AS (
    SELECT attempt, arg_max(display_path, struct_pack(w := source_iterations, p := -place)) AS display_path,
      arg_max(line, struct_pack(w := source_iterations, p := -place)) AS line,
      arg_max(place, struct_pack(w := source_iterations, p := -place)) AS place, arg_max(rank, source_iterations) AS rank, iteration,
      arg_max(target_iterations, source_iterations) AS target_iterations, arg_max(step_ms, source_iterations) AS step_ms,
      arg_max(tflops_per_gpu, source_iterations) AS tflops_per_gpu, arg_max(loss, source_iterations) AS loss,
      arg_max(learning_rate, source_iterations) AS learning_rate, arg_max(grad_norm, source_iterations) AS grad_norm,
      arg_max(loss_scale, source_iterations) AS loss_scale, arg_max(global_batch_size, source_iterations) AS global_batch_size,
      arg_max(consumed_samples, source_iterations) AS consumed_samples,
      arg_max(skipped_iterations, source_iterations) AS skipped_iterations, arg_max(nan_iterations, source_iterations) AS nan_iterations,
      min(time_us) AS time_us
    FROM metric_rows SEMI JOIN attempts_from_metrics USING (attempt)
    GROUP BY attempt, iteration),
  log_rows AS (
    SELECT attempt, iteration, any_value(step_ms) AS step_ms, any_value(tflops_per_gpu) AS tflops_per_gpu, any_value(loss) AS loss,
      any_value(learning_rate) AS learning_rate, any_value(grad_norm) AS grad_norm, any_value(loss_scale) AS loss_scale,
      any_value(global_batch_size) AS global_batch_size, any_value(consumed_samples) AS consumed_samples,
      any_value(skipped_iterations) AS skipped_iterations, any_value(nan_iterations) AS nan_iterations
    FROM printed JOIN attempts_from_metrics USING (attempt)
    GROUP BY attempt, iteration),
  targets AS (SELECT attempt, max(target_iterations) AS target_iterations FROM printed JOIN attempts_from_metrics USING (attempt)
    GROUP BY attempt)
SELECT attempt, display_path, line, place, rank, iteration, target_iterations, step_ms, tflops_per_gpu, loss, learning_rate, grad_norm,
  loss_scale, global_batch_size, consumed_samples, skipped_iterations, nan_iterations, time_us, copies
FROM printed ANTI JOIN attempts_from_metrics USING (attempt)
UNION ALL
SELECT metrics.attempt, metrics.display_path, metrics.line, metrics.place, metrics.rank, metrics.iteration,
  coalesce(metrics.target_iterations, targets.target_iterations), coalesce(metrics.step_ms, log_rows.step_ms),
  coalesce(metrics.tflops_per_gpu, log_rows.tflops_per_gpu), coalesce(metrics.loss, log_rows.loss),
  coalesce(metrics.learning_rate, log_rows.learning_rate), coalesce(metrics.grad_norm, log_rows.grad_norm),
  coalesce(metrics.loss_scale, log_rows.loss_scale), coalesce(metrics.global_batch_size, log_rows.global_batch_size),
  coalesce(metrics.consumed_samples, log_rows.consumed_samples), coalesce(metrics.skipped_iterations, log_rows.skipped_iterations),
  coalesce(metrics.nan_iterations, log_rows.nan_iterations), metrics.time_us, 0
FROM metrics LEFT JOIN log_rows USING (attempt, iteration) LEFT JOIN targets USING (attempt)

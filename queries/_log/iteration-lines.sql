-- @name   _log.iteration_lines
-- @title  Training iterations of a run, each once
-- @param  run_id INTEGER
-- @uses   _log.metrics_sources
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
-- @why    Schedulers write one file a node and one of all nodes, so that one line stands in two. Lines of one file are never taken
--         for copies, nor are lines without a clock and a step time: a launch that is repeated prints the same losses.
--         Metrics (event files, W&B, exports) tell of the same iterations as the log and as each other: a launch is told by them if they know more of its
--         iterations than the log does, and what they leave out of one is taken from the log. Of several files of metrics the fullest goes first.
WITH
  lines AS (
    SELECT source.attempt + log.attempt - 1 AS attempt, source.display_path, log.rowid AS place, coalesce(log.rank, source.rank) AS rank, log.* EXCLUDE (attempt, rank),
      log.source_id IN (FROM metrics_sources) AS is_metrics,
      row_number() OVER (PARTITION BY log.source_id, log.attempt, log.iteration, log.step_ms, log.time_us, log.loss, log.grad_norm, log.consumed_samples ORDER BY log.line, log.rowid) AS nth,
      CASE WHEN log.time_us IS NULL AND log.step_ms IS NULL THEN log.rowid END AS own
    FROM log_iteration AS log JOIN source USING (source_id)
    WHERE source.run_id = $run_id),
  printed AS (
    SELECT *, count(*) OVER same - 1 AS copies
    FROM lines
    WHERE NOT is_metrics
    WINDOW same AS (PARTITION BY attempt, iteration, step_ms, time_us, loss, grad_norm, consumed_samples, nth, own)
    QUALIFY row_number() OVER (PARTITION BY attempt, iteration, step_ms, time_us, loss, grad_norm, consumed_samples, nth, own ORDER BY display_path, line, place) = 1),
  told AS (
    SELECT *, count(DISTINCT iteration) OVER (PARTITION BY attempt, source_id) AS weight, count(DISTINCT iteration) OVER (PARTITION BY attempt) AS iterations
    FROM lines WHERE is_metrics),
  speaking AS (
    SELECT attempt FROM told LEFT JOIN (SELECT attempt, count(DISTINCT iteration) AS printed FROM printed GROUP BY attempt) USING (attempt)
    GROUP BY attempt
    HAVING any_value(iterations) > coalesce(any_value(printed), 0)),
  metrics AS (
    SELECT attempt, arg_max(display_path, struct_pack(w := weight, p := -place)) AS display_path, arg_max(line, struct_pack(w := weight, p := -place)) AS line,
      arg_max(place, struct_pack(w := weight, p := -place)) AS place, arg_max(rank, weight) AS rank, iteration, arg_max(target_iterations, weight) AS target_iterations, arg_max(step_ms, weight) AS step_ms,
      arg_max(tflops_per_gpu, weight) AS tflops_per_gpu, arg_max(loss, weight) AS loss, arg_max(learning_rate, weight) AS learning_rate, arg_max(grad_norm, weight) AS grad_norm,
      arg_max(loss_scale, weight) AS loss_scale, arg_max(global_batch_size, weight) AS global_batch_size, arg_max(consumed_samples, weight) AS consumed_samples,
      arg_max(skipped_iterations, weight) AS skipped_iterations, arg_max(nan_iterations, weight) AS nan_iterations, min(time_us) AS time_us
    FROM told SEMI JOIN speaking USING (attempt)
    GROUP BY attempt, iteration),
  beside AS (
    SELECT attempt, iteration, any_value(step_ms) AS step_ms, any_value(tflops_per_gpu) AS tflops_per_gpu, any_value(loss) AS loss, any_value(learning_rate) AS learning_rate,
      any_value(grad_norm) AS grad_norm, any_value(loss_scale) AS loss_scale, any_value(global_batch_size) AS global_batch_size, any_value(consumed_samples) AS consumed_samples,
      any_value(skipped_iterations) AS skipped_iterations, any_value(nan_iterations) AS nan_iterations
    FROM printed JOIN speaking USING (attempt)
    GROUP BY attempt, iteration),
  targets AS (SELECT attempt, max(target_iterations) AS target_iterations FROM printed JOIN speaking USING (attempt) GROUP BY attempt)
SELECT attempt, display_path, line, place, rank, iteration, target_iterations, step_ms, tflops_per_gpu, loss, learning_rate, grad_norm, loss_scale, global_batch_size,
  consumed_samples, skipped_iterations, nan_iterations, time_us, copies
FROM printed ANTI JOIN speaking USING (attempt)
UNION ALL
SELECT metrics.attempt, metrics.display_path, metrics.line, metrics.place, metrics.rank, metrics.iteration, coalesce(metrics.target_iterations, targets.target_iterations),
  coalesce(metrics.step_ms, beside.step_ms), coalesce(metrics.tflops_per_gpu, beside.tflops_per_gpu), coalesce(metrics.loss, beside.loss), coalesce(metrics.learning_rate, beside.learning_rate),
  coalesce(metrics.grad_norm, beside.grad_norm), coalesce(metrics.loss_scale, beside.loss_scale), coalesce(metrics.global_batch_size, beside.global_batch_size),
  coalesce(metrics.consumed_samples, beside.consumed_samples), coalesce(metrics.skipped_iterations, beside.skipped_iterations), coalesce(metrics.nan_iterations, beside.nan_iterations),
  metrics.time_us, 0
FROM metrics LEFT JOIN beside USING (attempt, iteration) LEFT JOIN targets USING (attempt)

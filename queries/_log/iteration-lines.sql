-- @name   _log.iteration_lines
-- @title  Iteration lines of a run, each once
-- @param  run_id INTEGER
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
SELECT attempt, display_path, line, place, rank, iteration, target_iterations, step_ms, tflops_per_gpu, loss, learning_rate, grad_norm, loss_scale, global_batch_size,
  consumed_samples, skipped_iterations, nan_iterations, time_us, count(*) OVER same - 1 AS copies
FROM (
  SELECT source.attempt + log.attempt - 1 AS attempt, source.display_path, log.rowid AS place, coalesce(log.rank, source.rank) AS rank, log.* EXCLUDE (attempt, rank),
    row_number() OVER (PARTITION BY log.source_id, log.attempt, log.iteration, log.step_ms, log.time_us, log.loss, log.grad_norm, log.consumed_samples ORDER BY log.line, log.rowid) AS nth,
    CASE WHEN log.time_us IS NULL AND log.step_ms IS NULL THEN log.rowid END AS own
  FROM log_iteration AS log JOIN source USING (source_id)
  WHERE source.run_id = $run_id)
WINDOW same AS (PARTITION BY attempt, iteration, step_ms, time_us, loss, grad_norm, consumed_samples, nth, own)
QUALIFY row_number() OVER (PARTITION BY attempt, iteration, step_ms, time_us, loss, grad_norm, consumed_samples, nth, own ORDER BY display_path, line, place) = 1

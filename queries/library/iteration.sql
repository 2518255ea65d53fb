-- @name   library.iteration
-- @kind   view
-- @title  Every printed training iteration
-- @col    run_id             INTEGER
-- @col    source_id          INTEGER
-- @col    attempt            INTEGER  launch of the run
-- @col    line               INTEGER
-- @col    byte_offset        BIGINT
-- @col    rank               INTEGER? global rank, else that of the file
-- @col    format             VARCHAR  format that read it
-- @col    time_us            BIGINT?  printed time, µs since 1970 by clock
-- @col    iteration          BIGINT   from 1
-- @col    target_iterations  BIGINT?
-- @col    step_ms            DOUBLE?
-- @col    consumed_samples   BIGINT?
-- @col    global_batch_size  BIGINT?
-- @col    tflops_per_gpu     DOUBLE?  model TFLOP/s per GPU
-- @col    learning_rate      DOUBLE?
-- @col    loss               DOUBLE?
-- @col    loss_scale         DOUBLE?
-- @col    grad_norm          DOUBLE?
-- @col    skipped_iterations BIGINT?
-- @col    nan_iterations     BIGINT?
-- @col    clock              VARCHAR  utc, or printed: local time without a zone
-- @col    origin             VARCHAR? format of the file
-- @why    log_iteration with the texts, the run, and the launch counted over the run. Other fields of a line are in
--         log_value as iteration.NAME.
SELECT
  source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, log.byte_offset,
  coalesce(log.rank, source.rank) AS rank, format.text AS format, log.time_us, log.iteration, log.target_iterations, log.step_ms,
  log.consumed_samples, log.global_batch_size, log.tflops_per_gpu, log.learning_rate, log.loss, log.loss_scale, log.grad_norm,
  log.skipped_iterations, log.nan_iterations, coalesce(source.clock, 'printed') AS clock, source.format AS origin
FROM log_iteration AS log JOIN source USING (source_id) JOIN text_value AS format ON format.text_id = log.format_id

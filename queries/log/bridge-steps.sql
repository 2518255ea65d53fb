-- @name   log.bridge_steps
-- @title  Step values in the order in which Megatron Bridge's performance script would collect them
-- @param  run_id INTEGER
-- @col    kind         VARCHAR  iteration, lm loss, elapsed time per iteration (ms), GPU utilization, grad norm
-- @col    value        DOUBLE   NaN and infinity of grad norm only
-- @col    step         BIGINT?  the value's, 0-based, by its position in its list; NULL for iterations, and behind the last of them
-- @col    is_misaligned BOOLEAN its list is longer or shorter than that of iterations
-- @col    display_path VARCHAR
-- @why    The script keeps one list per name and zips them by position, so that a missing value shifts the rest: so are they here.
--         Iteration n announces that step n − 1 is complete. It searches each line once, and its patterns know NaN of grad norm only,
--         and not NeMo's iteration lines.
WITH
  files AS (SELECT source_id, display_path FROM source WHERE run_id = $run_id),
  chosen AS (
    SELECT * FROM files
    WHERE contains(display_path, 'allranks') OR NOT EXISTS (SELECT 1 FROM files WHERE contains(display_path, 'allranks'))),
  lines AS (
    SELECT chosen.display_path, log.line, log.rowid AS place, log.iteration, log.step_ms, log.loss, log.grad_norm
    FROM log_iteration AS log
    JOIN chosen USING (source_id)
    JOIN text_value AS format ON format.text_id = log.format_id
    WHERE log.target_iterations IS NOT NULL AND (contains(lower(format.text), 'megatron') OR contains(lower(format.text), 'bridge'))
    QUALIFY row_number() OVER (PARTITION BY chosen.display_path, log.line ORDER BY log.rowid) = 1),
  figures AS (
    SELECT chosen.display_path, log.line, log.rowid AS place, log.value
    FROM log_figure AS log
    JOIN chosen USING (source_id)
    JOIN text_value AS name ON name.text_id = log.name_id
    WHERE starts_with(name.text, 'step_time.') AND contains(name.text, 'flops')
    QUALIFY row_number() OVER (PARTITION BY chosen.display_path, log.line ORDER BY log.rowid) = 1),
  lists AS (
    SELECT *, row_number() OVER (PARTITION BY kind ORDER BY display_path, line, place) AS nth, count(*) OVER (PARTITION BY kind) AS length
    FROM (
      SELECT 'iteration' AS kind, iteration::DOUBLE AS value, display_path, line, place FROM lines
      UNION ALL SELECT 'lm loss', loss, display_path, line, place FROM lines WHERE isfinite(loss)
      UNION ALL SELECT 'elapsed time per iteration (ms)', step_ms, display_path, line, place FROM lines WHERE isfinite(step_ms)
      UNION ALL SELECT 'grad norm', grad_norm, display_path, line, place FROM lines WHERE grad_norm IS NOT NULL
      UNION ALL SELECT 'GPU utilization', value, display_path, line, place FROM figures WHERE isfinite(value))),
  iterations AS (SELECT nth, value::BIGINT - 1 AS step, length FROM lists WHERE kind = 'iteration')
SELECT kind, value, CASE WHEN kind <> 'iteration' THEN iterations.step END AS step,
  lists.length <> coalesce((SELECT any_value(length) FROM iterations), 0) AS is_misaligned, display_path
FROM lists LEFT JOIN iterations USING (nth)
ORDER BY kind, nth

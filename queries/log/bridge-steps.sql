-- @name   log.bridge_steps
-- @title  Step values in the order in which Megatron Bridge's performance script would collect them
-- @param  run_id INTEGER
-- @col    kind         VARCHAR  iteration, lm loss, elapsed time per iteration (ms), GPU utilization
-- @col    value        DOUBLE
-- @col    iteration    BIGINT?  the line's own, where it has one
-- @col    display_path VARCHAR
-- @why    The script keeps one list per name and zips them by position, so that a missing value shifts the rest: the lists, not their
--         meaning, are wanted here. It searches each line once, and its patterns know neither NaN nor NeMo's iteration lines.
WITH
  files AS (SELECT source_id, display_path FROM source WHERE run_id = $run_id),
  chosen AS (
    SELECT * FROM files
    WHERE contains(display_path, 'allranks') OR NOT EXISTS (SELECT 1 FROM files WHERE contains(display_path, 'allranks'))),
  lines AS (
    SELECT chosen.display_path, log.line, log.rowid AS place, log.iteration, log.step_ms, log.loss
    FROM log_iteration AS log
    JOIN chosen USING (source_id)
    JOIN text_value AS format ON format.text_id = log.format_id
    WHERE log.target_iterations IS NOT NULL AND (contains(lower(format.text), 'megatron') OR contains(lower(format.text), 'bridge'))
    QUALIFY row_number() OVER (PARTITION BY chosen.display_path, log.line ORDER BY log.rowid) = 1),
  figures AS (
    SELECT chosen.display_path, log.line, log.rowid AS place, log.iteration, log.value
    FROM log_figure AS log
    JOIN chosen USING (source_id)
    JOIN text_value AS name ON name.text_id = log.name_id
    WHERE starts_with(name.text, 'step_time.') AND contains(name.text, 'flops')
    QUALIFY row_number() OVER (PARTITION BY chosen.display_path, log.line ORDER BY log.rowid) = 1)
SELECT kind, value, iteration, display_path
FROM (
  SELECT 'iteration' AS kind, iteration::DOUBLE AS value, iteration, display_path, line, place FROM lines
  UNION ALL SELECT 'lm loss', loss, iteration, display_path, line, place FROM lines WHERE isfinite(loss)
  UNION ALL SELECT 'elapsed time per iteration (ms)', step_ms, iteration, display_path, line, place FROM lines WHERE isfinite(step_ms)
  UNION ALL SELECT 'GPU utilization', value, iteration, display_path, line, place FROM figures WHERE isfinite(value))
ORDER BY kind, display_path, line, place

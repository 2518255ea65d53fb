-- @name   log.bridge_memory
-- @title  Memory figures as Megatron Bridge's performance script would pick them from the same logs
-- @param  run_id INTEGER
-- @col    alloc        DOUBLE? first of the first file, decimal GB as printed
-- @col    max_alloc    DOUBLE?
-- @col    max_reserved DOUBLE? largest of all
-- @why    The script takes the first match in the order of files and lines, whatever rank wrote it, and reads files with allranks in their
--         path alone if there are any. Golden values were made so, and can only be compared so.
WITH
  files AS (SELECT source_id, display_path FROM source WHERE run_id = $run_id),
  chosen AS (
    SELECT * FROM files
    WHERE contains(display_path, 'allranks') OR NOT EXISTS (SELECT 1 FROM files WHERE contains(display_path, 'allranks'))),
  figures AS (
    SELECT metric.text AS metric, log.value, row_number() OVER (ORDER BY chosen.display_path, log.line, log.rowid) AS nth
    FROM log_memory AS log
    JOIN chosen USING (source_id)
    JOIN text_value AS metric ON metric.text_id = log.metric_id
    JOIN text_value AS format ON format.text_id = log.format_id
    WHERE contains(lower(format.text), 'bridge') AND metric.text IN ('allocated', 'max_allocated', 'max_reserved'))
SELECT arg_min(value, nth) FILTER (metric = 'allocated') AS alloc, arg_min(value, nth) FILTER (metric = 'max_allocated') AS max_alloc,
  max(value) FILTER (metric = 'max_reserved') AS max_reserved
FROM figures
LIMIT 1

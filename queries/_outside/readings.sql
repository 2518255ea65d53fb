-- @name   _outside.readings
-- @title  What PyTorch held, by its own word, at moments of which the time is known
-- @param  run_id INTEGER
-- @col    rank              INTEGER?
-- @col    time_us           BIGINT?
-- @col    clock             VARCHAR
-- @col    iteration         BIGINT?
-- @col    kind              VARCHAR   memory line, scalar, failure message
-- @col    reserved_bytes    BIGINT
-- @col    used_bytes        BIGINT?   of the device, if the same record contains it
-- @col    total_bytes       BIGINT?
-- @col    process_bytes     BIGINT?   of this process, if the same record contains it
-- @col    display_path      VARCHAR
-- @col    line              BIGINT
-- @why    Megatron prints a memory line right behind the line of its iteration, and only that one has a clock. A memory line gives the
--         reserved memory when it was printed, an OOM message when the request failed. Peaks (max_reserved) are without a time and are
--         excluded.
SELECT lines.rank, coalesce(lines.time_us, steps.time_us) AS time_us, CASE WHEN lines.time_us IS NULL AND steps.time_us IS NOT NULL
  THEN steps.clock ELSE lines.clock END AS clock, lines.iteration, lines.kind, lines.reserved_bytes, lines.used_bytes, lines.total_bytes,
  lines.process_bytes, lines.display_path, lines.line
FROM (
  SELECT source.attempt + log.attempt - 1 AS attempt, coalesce(log.rank, source.rank) AS rank, log.time_us,
    coalesce(source.clock, 'printed') AS clock, any_value(log.iteration) AS iteration,
    CASE WHEN source.format = 'log' THEN 'memory line' ELSE 'scalar' END AS kind, bool_or(moment.text = 'after iteration') AS is_after,
    max(log.bytes) FILTER (metric.text = 'reserved') AS reserved_bytes,
    coalesce(max(log.bytes) FILTER (metric.text = 'device_used'),
      max(log.bytes) FILTER (metric.text = 'device_total') - max(log.bytes) FILTER (metric.text = 'device_free')) AS used_bytes,
    max(log.bytes) FILTER (metric.text = 'device_total') AS total_bytes, NULL::BIGINT AS process_bytes, source.display_path,
    log.line::BIGINT AS line
  FROM log_memory AS log JOIN source USING (source_id) JOIN text_value AS metric ON metric.text_id = log.metric_id
    LEFT JOIN text_value AS moment ON moment.text_id = log.moment_id
  WHERE source.run_id = $run_id AND metric.text IN ('reserved', 'device_used', 'device_free', 'device_total')
  GROUP BY log.source_id, source.attempt, log.attempt, source.clock, source.format, source.display_path, log.line,
    coalesce(log.rank, source.rank), log.time_us, log.iteration) AS lines
LEFT JOIN (
  SELECT attempt, iteration, clock, min(time_us) AS time_us FROM iteration WHERE run_id = $run_id AND origin = 'log' AND time_us IS NOT NULL
    GROUP BY ALL) AS steps
  ON lines.time_us IS NULL AND lines.is_after AND steps.attempt = lines.attempt AND steps.iteration = lines.iteration
WHERE lines.reserved_bytes IS NOT NULL AND (lines.time_us IS NOT NULL OR steps.time_us IS NOT NULL OR lines.used_bytes IS NOT NULL)
UNION ALL
SELECT coalesce(incident.rank, source.rank), incident.time_us, coalesce(source.clock, 'printed'), NULL, 'failure message',
  coalesce(incident.reserved_bytes, incident.allocated_bytes + incident.reserved_unallocated_bytes),
  incident.total_bytes - incident.free_bytes, incident.total_bytes, incident.process_bytes, source.display_path, incident.line
FROM incident JOIN source USING (source_id)
WHERE source.run_id = $run_id AND incident.is_oom
  AND coalesce(incident.reserved_bytes, incident.allocated_bytes + incident.reserved_unallocated_bytes) IS NOT NULL
  AND (incident.time_us IS NOT NULL OR incident.total_bytes - incident.free_bytes IS NOT NULL)

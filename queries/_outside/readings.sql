-- @name   _outside.readings
-- @title  What PyTorch held, by its own word, at moments of which the time is known
-- @param  run_id INTEGER
-- @col    rank              INTEGER?
-- @col    time_us           BIGINT?
-- @col    clock             VARCHAR
-- @col    iteration         BIGINT?
-- @col    kind              VARCHAR   memory line, scalar, failure message
-- @col    reserved_bytes    BIGINT
-- @col    used_bytes        BIGINT?   of the device, where the same record says it
-- @col    total_bytes       BIGINT?
-- @col    process_bytes     BIGINT?   of this process, where the same record says it
-- @col    display_path      VARCHAR
-- @col    line              BIGINT
-- @why    A memory line says what was reserved when it was printed, an OOM message when memory was refused. Peaks (max_reserved) have no moment and are left out.
SELECT coalesce(log.rank, source.rank) AS rank, log.time_us, coalesce(source.clock, 'printed') AS clock, any_value(log.iteration) AS iteration,
  CASE WHEN source.format = 'log' THEN 'memory line' ELSE 'scalar' END AS kind,
  max(log.bytes) FILTER (metric.text = 'reserved') AS reserved_bytes,
  coalesce(max(log.bytes) FILTER (metric.text = 'device_used'), max(log.bytes) FILTER (metric.text = 'device_total') - max(log.bytes) FILTER (metric.text = 'device_free')) AS used_bytes,
  max(log.bytes) FILTER (metric.text = 'device_total') AS total_bytes, NULL::BIGINT AS process_bytes, source.display_path, log.line::BIGINT AS line
FROM log_memory AS log JOIN source USING (source_id) JOIN text_value AS metric ON metric.text_id = log.metric_id
WHERE source.run_id = $run_id AND metric.text IN ('reserved', 'device_used', 'device_free', 'device_total')
GROUP BY log.source_id, source.clock, source.format, source.display_path, log.line, coalesce(log.rank, source.rank), log.time_us, log.iteration
HAVING reserved_bytes IS NOT NULL AND (log.time_us IS NOT NULL OR used_bytes IS NOT NULL)
UNION ALL
SELECT coalesce(incident.rank, source.rank), incident.time_us, coalesce(source.clock, 'printed'), NULL, 'failure message',
  coalesce(incident.reserved_bytes, incident.allocated_bytes + incident.reserved_unallocated_bytes), incident.total_bytes - incident.free_bytes, incident.total_bytes, incident.process_bytes,
  source.display_path, incident.line
FROM incident JOIN source USING (source_id)
WHERE source.run_id = $run_id AND incident.is_oom AND coalesce(incident.reserved_bytes, incident.allocated_bytes + incident.reserved_unallocated_bytes) IS NOT NULL
  AND (incident.time_us IS NOT NULL OR incident.total_bytes - incident.free_bytes IS NOT NULL)

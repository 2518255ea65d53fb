-- @name   library.memory_sample
-- @kind   view
-- @title  Every figure of a memory line, and every sample of a gauge
-- @col    run_id          INTEGER
-- @col    source_id       INTEGER
-- @col    attempt         INTEGER  launch of the run
-- @col    line            INTEGER
-- @col    byte_offset     BIGINT
-- @col    rank            INTEGER? global rank, else that of the file
-- @col    device          INTEGER?
-- @col    host            VARCHAR?
-- @col    format          VARCHAR  format that read it
-- @col    time_us         BIGINT?  printed time, µs since 1970 by clock
-- @col    iteration       BIGINT?
-- @col    moment          VARCHAR? as the line names it, such as before save_checkpoint
-- @col    metric          VARCHAR  such as max_allocated, or the printed key
-- @col    bytes           BIGINT?  by the producer's meaning of its unit; NULL for counts
-- @col    value           DOUBLE   as printed
-- @col    unit            VARCHAR  as printed
-- @col    precision_bytes DOUBLE   half of the last printed digit
-- @col    reading         VARCHAR  peak and moment: by the process itself; sampled: by another program
-- @col    clock           VARCHAR  utc, or printed: local time without a zone
-- @col    origin          VARCHAR? format of the file
-- @col    pid             BIGINT?  process that a gauge measures
-- @why    Peaks, moments and samples answer different questions: a sample misses peaks between two of them.
SELECT
  source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, log.byte_offset,
  coalesce(log.rank, source.rank) AS rank, log.device, host.text AS host, format.text AS format, log.time_us, log.iteration,
  moment.text AS moment, metric.text AS metric, log.bytes, log.value, unit.text AS unit, log.precision_bytes,
  CASE WHEN starts_with(metric.text, 'max_') THEN 'peak' ELSE 'moment' END AS reading, coalesce(source.clock, 'printed') AS clock,
  source.format AS origin, NULL::BIGINT AS pid
FROM log_memory AS log JOIN source USING (source_id) JOIN text_value AS format ON format.text_id = log.format_id
  JOIN text_value AS metric ON metric.text_id = log.metric_id JOIN text_value AS unit ON unit.text_id = log.unit_id
  LEFT JOIN text_value AS moment ON moment.text_id = log.moment_id LEFT JOIN text_value AS host ON host.text_id = log.host_id
UNION ALL
SELECT
  gauge.run_id, gauge.source_id, gauge.attempt, gauge.line, gauge.byte_offset, gauge.rank, gauge.device, gauge.host, gauge.format,
  gauge.time_us, NULL, NULL, gauge.metric, gauge.bytes, gauge.value, gauge.unit, gauge.precision_bytes, 'sampled', gauge.clock,
  source.format, gauge.pid
FROM gauge JOIN source USING (source_id)

-- @name   library.gauge
-- @kind   view
-- @title  Every sample of a gauge that another program polls
-- @col    run_id          INTEGER
-- @col    source_id       INTEGER
-- @col    attempt         INTEGER  launch of the run
-- @col    line            INTEGER
-- @col    byte_offset     BIGINT
-- @col    rank            INTEGER? global rank, else that of the file
-- @col    device          INTEGER? the driver's index on the node
-- @col    host            VARCHAR?
-- @col    gpu             VARCHAR? UUID of the device, else its PCI bus id
-- @col    pid             BIGINT?
-- @col    process         VARCHAR? name of the process or job step
-- @col    format          VARCHAR  format that read it
-- @col    time_us         BIGINT?  of the sample, µs since 1970 by clock
-- @col    clock           VARCHAR  utc, or printed: local time without a zone
-- @col    metric          VARCHAR  as in log_gauge
-- @col    bytes           BIGINT
-- @col    value           DOUBLE   as reported
-- @col    unit            VARCHAR  as reported
-- @col    precision_bytes DOUBLE   half of the last printed digit
-- @why    log_gauge with the texts, the run, and the launch counted over the run.
SELECT
  source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, log.byte_offset,
  coalesce(log.rank, source.rank) AS rank, log.device, host.text AS host, gpu.text AS gpu, log.pid, process.text AS process,
  format.text AS format, log.time_us, coalesce(source.clock, 'printed') AS clock, metric.text AS metric, log.bytes, log.value,
  unit.text AS unit, log.precision_bytes
FROM log_gauge AS log JOIN source USING (source_id) JOIN text_value AS format ON format.text_id = log.format_id
  JOIN text_value AS metric ON metric.text_id = log.metric_id JOIN text_value AS unit ON unit.text_id = log.unit_id
  LEFT JOIN text_value AS host ON host.text_id = log.host_id LEFT JOIN text_value AS gpu ON gpu.text_id = log.gpu_id
  LEFT JOIN text_value AS process ON process.text_id = log.process_id

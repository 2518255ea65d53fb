-- @name   library.log_value
-- @kind   view
-- @title  Every other figure or word of a log
-- @col    run_id      INTEGER
-- @col    source_id   INTEGER
-- @col    attempt     INTEGER  launch of the run
-- @col    line        INTEGER
-- @col    byte_offset BIGINT
-- @col    rank        INTEGER? global rank, else that of the file
-- @col    device      INTEGER?
-- @col    host        VARCHAR?
-- @col    format      VARCHAR  format that read it
-- @col    time_us     BIGINT?  printed time, µs since 1970 by clock
-- @col    iteration   BIGINT?
-- @col    name        VARCHAR  dotted, topic first
-- @col    value       DOUBLE?
-- @col    unit        VARCHAR? NULL for words
-- @col    text        VARCHAR? as printed, where it is not a number or has more than the number
-- @why    log_figure with the texts, the run, and the launch counted over the run: timers, theory, parameters, buckets, versions, hardware.
SELECT
  source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, log.byte_offset,
  coalesce(log.rank, source.rank) AS rank, log.device, host.text AS host, format.text AS format, log.time_us, log.iteration,
  name.text AS name, log.value, unit.text AS unit, words.text AS text
FROM log_figure AS log JOIN source USING (source_id) JOIN text_value AS format ON format.text_id = log.format_id
  JOIN text_value AS name ON name.text_id = log.name_id LEFT JOIN text_value AS unit ON unit.text_id = log.unit_id
  LEFT JOIN text_value AS words ON words.text_id = log.text_id LEFT JOIN text_value AS host ON host.text_id = log.host_id

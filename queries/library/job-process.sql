-- @name   library.job_process
-- @kind   view
-- @title  Other processes that an OOM message lists and that the logs of its run name
-- @col    run_id       INTEGER
-- @col    incident_id  INTEGER  the message
-- @col    message_path VARCHAR
-- @col    message_line BIGINT
-- @col    pid          BIGINT
-- @col    bytes        BIGINT   in use on the device
-- @col    name         VARCHAR
-- @col    display_path VARCHAR  where the log names it
-- @col    line         INTEGER
-- @why    A number is a process of one host: where both hosts are known and differ, it is another one. This process is that of the
--         message's prefix, else the one with at least the reserve (oom_message).
WITH named AS (
  SELECT source.run_id, log.source_id, log.value::BIGINT AS pid, words.text AS name, host.text AS host, log.line
  FROM log_figure AS log
  JOIN source USING (source_id)
  JOIN text_value AS kind ON kind.text_id = log.name_id AND kind.text = 'process.name'
  JOIN text_value AS words ON words.text_id = log.text_id
  LEFT JOIN text_value AS host ON host.text_id = log.host_id)
SELECT source.run_id, incident.incident_id, source.display_path AS message_path, incident.line AS message_line, value.pid,
  value.bytes, named.name, of_name.display_path, named.line
FROM incident_value AS value
JOIN incident USING (incident_id)
JOIN source USING (source_id)
JOIN oom_message AS message ON message.incident_id = value.incident_id
JOIN named ON named.run_id = source.run_id AND named.pid = value.pid AND coalesce(named.host = incident.host, true)
JOIN source AS of_name ON of_name.source_id = named.source_id
WHERE value.field = 'process_named' AND value.pid IS DISTINCT FROM incident.pid
  AND (incident.pid IS NOT NULL OR value.bytes IS DISTINCT FROM message.process_bytes)
QUALIFY row_number() OVER (PARTITION BY value.incident_id, value.pid
  ORDER BY named.host IS DISTINCT FROM incident.host, of_name.source_id, named.line) = 1

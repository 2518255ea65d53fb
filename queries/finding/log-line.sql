-- @name   finding.log_line
-- @title  Everything that was read from one line of a text
-- @param  run_id INTEGER
-- @param  path   VARCHAR  as sources name it
-- @param  line   BIGINT
-- @col    read_as VARCHAR  failure, memory, setting, variable or figure
-- @col    name    VARCHAR
-- @col    value   VARCHAR?
-- @col    bytes   BIGINT?
-- @col    rank    INTEGER?
-- @col    ordinal BIGINT
-- @why    A line is evidence only as far as it was understood: this is what of it became rows.
WITH matching_sources AS (SELECT source_id, rank FROM source WHERE run_id = $run_id AND display_path = $path)
SELECT read_as, name, value, bytes, rank, row_number() OVER (ORDER BY read_as, place, name) AS ordinal FROM (
  SELECT 'failure' AS read_as, incident.kind AS name, incident.text AS value, NULL::BIGINT AS bytes,
    coalesce(incident.rank, matching_sources.rank) AS rank, 0 AS place
  FROM incident JOIN matching_sources USING (source_id) WHERE incident.line = $line
  UNION ALL
  SELECT 'failure', value.field || coalesce(' of process ' || value.pid, ''), value.printed, value.bytes,
    coalesce(incident.rank, matching_sources.rank), 1 + value.rowid
  FROM incident_value AS value JOIN incident USING (incident_id) JOIN matching_sources USING (source_id) WHERE incident.line = $line
  UNION ALL
  SELECT 'memory', sample.metric, sample.value || ' ' || sample.unit, sample.bytes, sample.rank, 0
  FROM memory_sample AS sample JOIN matching_sources USING (source_id) WHERE sample.line = $line
  UNION ALL
  SELECT 'setting', config.raw_key, config.value, NULL, config.rank, 0
  FROM config_value AS config JOIN matching_sources USING (source_id) WHERE config.line = $line
  UNION ALL
  SELECT 'variable', env.key, env.value, NULL, env.rank, 0
  FROM env_value AS env JOIN matching_sources USING (source_id) WHERE env.line = $line
  UNION ALL
  SELECT 'figure', figure.name, coalesce(figure.text, figure.value || coalesce(' ' || figure.unit, '')), NULL, figure.rank, 0
  FROM log_value AS figure JOIN matching_sources USING (source_id) WHERE figure.line = $line)
ORDER BY ordinal

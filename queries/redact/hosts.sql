-- @name   redact.hosts
-- @title  The hosts that any row names
-- @col    host VARCHAR
-- @why    Parsers know the host of a line by the place that a launcher gives it, without a word that announces it.
SELECT DISTINCT host
FROM (
  SELECT host FROM incident
  UNION ALL
  SELECT host FROM log_env
  UNION ALL
  SELECT text_value.text
  FROM text_value
  WHERE text_id IN (
    SELECT host_id FROM log_memory
    UNION ALL
    SELECT host_id FROM log_figure
    UNION ALL
    SELECT host_id FROM log_gauge
  )
)
WHERE host IS NOT NULL
ORDER BY host

-- @name   incident.list
-- @title  Failure lines of a run, in the order of their files and lines
-- @param  run_id INTEGER
-- @col    incident_id INTEGER
-- @col    display_path VARCHAR
-- @col    kind        VARCHAR
-- @col    is_oom      BOOLEAN
-- @col    rank        INTEGER? from the line's prefix, else the file's
-- @col    device      INTEGER?
-- @col    attempt     INTEGER  launch of the run
-- @col    line        BIGINT
-- @col    grammar     VARCHAR  entry of the grammar that matched
-- @col    text        VARCHAR
-- @why    The first failure of a rank is its cause; later lines are often echoes.
SELECT
  incident.incident_id, source.display_path, incident.kind, incident.is_oom, coalesce(incident.rank, source.rank) AS rank, incident.device,
  source.attempt + coalesce(incident.attempt, 1) - 1 AS attempt, incident.line,
  incident.grammar, incident.text
FROM incident
JOIN source USING (source_id)
WHERE source.run_id = $run_id
ORDER BY source.display_path, incident.line, incident.incident_id

-- @name   incident.frames
-- @title  Tracebacks of the failure lines of a run
-- @param  run_id INTEGER
-- @col    display_path VARCHAR
-- @col    line         BIGINT
-- @col    frames       VARCHAR  JSON: innermost first
-- @needs  incident
-- @why    Whether weights were being made shows in frames of libraries too.
SELECT source.display_path, incident.line, incident.frames
FROM incident
JOIN source USING (source_id)
WHERE source.run_id = $run_id AND incident.is_oom AND incident.frames IS NOT NULL
ORDER BY incident.incident_id

-- @name   incident.values
-- @title  Byte figures of the failure lines of a run, as printed
-- @param  run_id INTEGER
-- @col    incident_id     INTEGER
-- @col    field           VARCHAR  requested, total, free, ... ; process_named for `Process N has`
-- @col    pid             BIGINT?
-- @col    bytes           BIGINT
-- @col    precision_bytes BIGINT   half of the last printed digit
-- @needs  incident_value
-- @why    What was printed, and how exactly: sums are only as good as that.
SELECT value.incident_id, value.field, value.pid, value.bytes, value.precision_bytes
FROM incident_value AS value
JOIN incident USING (incident_id)
JOIN source USING (source_id)
WHERE source.run_id = $run_id
ORDER BY value.incident_id, value.rowid

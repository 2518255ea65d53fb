-- @name   verdict.components_at
-- @title  Live memory of a device after one entry of its trace, by component
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    component VARCHAR?  NULL: not labelled, because an ingest was interrupted
-- @col    bytes     BIGINT
-- @why    What filled the device, next to the verdict.
SELECT component, sum(bytes)::BIGINT AS bytes
FROM components_at($snapshot_id, $device, $at_seq) AS live
GROUP BY component
ORDER BY bytes DESC, component

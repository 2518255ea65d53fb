-- @name   attribution.bytes
-- @title  Live memory of a device after one entry of its trace, by component
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  at_seq      INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    component VARCHAR
-- @col    bytes     BIGINT
-- @why    The sums of components_at, for verdicts and differences.
SELECT component, sum(bytes)::BIGINT AS bytes
FROM components_at($snapshot_id, $device, $at_seq)
GROUP BY component
ORDER BY component

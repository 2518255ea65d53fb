-- @name   attribution.parts
-- @title  Live memory of a device after one entry of its trace, by component and part of it
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  at_seq      INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    component     VARCHAR
-- @col    sub_component VARCHAR
-- @col    bytes         BIGINT
-- @why    An estimate has components; which of their parts exist shows what the run has done by then.
SELECT component, sub_component, sum(bytes)::BIGINT AS bytes
FROM components_at($snapshot_id, $device, $at_seq)
GROUP BY ALL
ORDER BY ALL

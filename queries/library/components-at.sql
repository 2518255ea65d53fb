-- @name   library.components_at
-- @kind   macro
-- @title  Live memory after one entry of a trace, by component
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    component     VARCHAR?
-- @col    sub_component VARCHAR?
-- @col    phase         VARCHAR?
-- @col    known_by      VARCHAR?
-- @col    bytes         HUGEINT   actual sizes
-- @col    blocks        BIGINT
-- @why    The sum over all rows is that of live_at.
SELECT label.component, label.sub_component, label.phase, label.known_by, sum(live.actual_bytes) AS bytes, count(*) AS blocks
FROM live_at(snapshot_key, device_no, at_seq) AS live
LEFT JOIN label ON label.snapshot_id = snapshot_key AND label.device = device_no AND label.label = live.label
GROUP BY ALL

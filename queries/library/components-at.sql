-- @name   library.components_at
-- @kind   macro
-- @title  Live memory after one entry of a trace, by component
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    component       VARCHAR?
-- @col    sub_component   VARCHAR?
-- @col    phase           VARCHAR?
-- @col    known_by        VARCHAR?
-- @col    confidence      VARCHAR?
-- @col    rules           VARCHAR?  ids, separated by blanks
-- @col    bytes           BIGINT   actual sizes
-- @col    requested_bytes BIGINT?  NULL: not known of all of the blocks
-- @col    blocks          BIGINT
-- @why    The sum over all rows is that of live_at.
SELECT
  label.component, label.sub_component, label.phase, label.known_by, label.confidence, label.rules, sum(live.actual_bytes)::BIGINT AS bytes,
  CASE WHEN count(live.requested_bytes) = count(*) THEN sum(live.requested_bytes)::BIGINT END AS requested_bytes, count(*) AS blocks
FROM live_at(snapshot_key, device_no, at_seq) AS live
LEFT JOIN (SELECT * FROM label WHERE snapshot_id = snapshot_key AND device = device_no) AS label ON label.label = live.label
GROUP BY ALL

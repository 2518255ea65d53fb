-- @name   attribution.components
-- @title  Live blocks of a device after one entry of its trace, by label
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  at_seq      INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    component       VARCHAR
-- @col    sub_component   VARCHAR
-- @col    phase           VARCHAR
-- @col    known_by        VARCHAR
-- @col    confidence      VARCHAR
-- @col    rules           VARCHAR  ids, separated by blanks
-- @col    bytes           BIGINT   actual sizes
-- @col    requested_bytes BIGINT?  NULL: not known of all of the blocks
-- @col    blocks          BIGINT
-- @col    resident_bytes  BIGINT?  NULL: frees were not recorded
-- @why    The rows of components_at, with what outlives its step; the largest first, of equals that of the lowest address.
SELECT
  label.component, label.sub_component, label.phase, label.known_by, label.confidence, label.rules,
  sum(live.actual_bytes)::BIGINT AS bytes,
  CASE WHEN count(live.requested_bytes) = count(*) THEN sum(live.requested_bytes)::BIGINT END AS requested_bytes,
  count(*) AS blocks,
  CASE WHEN count(live.lifetime) = count(*)
    THEN coalesce(sum(live.actual_bytes) FILTER (live.lifetime = 'resident'), 0)::BIGINT END AS resident_bytes
FROM lifetimes_at($snapshot_id, $device, $at_seq) AS live
LEFT JOIN label ON label.snapshot_id = $snapshot_id AND label.device = $device AND label.label = live.label
GROUP BY ALL
ORDER BY sum(live.actual_bytes) DESC, min(live.address)

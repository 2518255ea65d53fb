-- @name   attribution.stacks
-- @title  Live blocks of a device after one entry of its trace, by component and stack
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  at_seq      INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    component      VARCHAR
-- @col    stack_id       INTEGER? with that of the segment that a block from before the trace fills
-- @col    bytes          BIGINT   actual sizes
-- @col    blocks         BIGINT
-- @col    resident_bytes BIGINT?  NULL: frees were not recorded
-- @why    Modules, layers and accumulation points are read from the frames of the stacks. In order of addresses.
SELECT
  label.component, coalesce(live.stack_id, start.stack_id) AS stack_id, sum(live.actual_bytes)::BIGINT AS bytes, count(*) AS blocks,
  CASE WHEN count(live.lifetime) = count(*)
    THEN coalesce(sum(live.actual_bytes) FILTER (live.lifetime = 'resident'), 0)::BIGINT END AS resident_bytes
FROM lifetimes_at($snapshot_id, $device, $at_seq) AS live
LEFT JOIN label ON label.snapshot_id = $snapshot_id AND label.device = $device AND label.label = live.label
LEFT JOIN start_stacks($snapshot_id, $device) AS start ON start.block = live.block
GROUP BY ALL
ORDER BY min(live.address)

-- @name   attribution.blocks
-- @title  Components of the blocks that are live after one entry of a trace
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  at_seq      INTEGER
-- @col    block     INTEGER
-- @col    component VARCHAR
-- @why    For sums by what only code knows.
SELECT live.block, label.component
FROM live_at($snapshot_id, $device, $at_seq) AS live
LEFT JOIN label ON label.snapshot_id = $snapshot_id AND label.device = $device AND label.label = live.label
ORDER BY live.block

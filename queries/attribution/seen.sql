-- @name   attribution.seen
-- @title  Components that blocks of a device have at any entry of its trace
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    component VARCHAR
-- @why    Recompute is over at most moments.
SELECT DISTINCT component FROM label WHERE snapshot_id = $snapshot_id AND device = $device ORDER BY component

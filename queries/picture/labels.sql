-- @name   picture.labels
-- @title  The component of each label of a device
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    label     INTEGER
-- @col    component VARCHAR
-- @why    Millions of blocks share a few labels.
SELECT label, component FROM label WHERE snapshot_id = $snapshot_id AND device = $device ORDER BY label

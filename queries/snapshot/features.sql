-- @name   snapshot.features
-- @title  Features that date a snapshot
-- @param  snapshot_id INTEGER
-- @col    place   BIGINT in the order of the file
-- @col    feature VARCHAR
-- @why    No snapshot names its torch version; its keys do.
SELECT rowid AS place, feature FROM snapshot_feature WHERE snapshot_id = $snapshot_id ORDER BY place

-- @name   snapshot.features
-- @title  Features that date a snapshot
-- @param  snapshot_id INTEGER
-- @col    feature VARCHAR
-- @why    No snapshot names its torch version; its keys do.
SELECT feature FROM snapshot_feature WHERE snapshot_id = $snapshot_id ORDER BY rowid

-- @name   snapshot.settings_of
-- @title  Allocator settings of a snapshot, in the order of the file
-- @param  snapshot_id INTEGER
-- @col    place BIGINT
-- @of     snapshot_setting: key value
-- @why    As snapshot.settings, for many snapshots in one statement: their order is a column.
SELECT rowid AS place, key, value FROM snapshot_setting WHERE snapshot_id = $snapshot_id ORDER BY place

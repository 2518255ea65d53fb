-- @name   snapshot.settings
-- @title  Allocator settings of a snapshot, nested keys flattened
-- @param  snapshot_id INTEGER
-- @col    key   VARCHAR
-- @col    value VARCHAR
-- @needs  snapshot_setting
-- @why    The effective values: an environment variable may have been ignored.
SELECT key, value FROM snapshot_setting WHERE snapshot_id = $snapshot_id ORDER BY rowid

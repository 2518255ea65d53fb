-- @name   snapshot.actions
-- @title  Trace entries by action
-- @param  snapshot_id INTEGER
-- @col    device INTEGER
-- @col    action ENUM
-- @col    count  BIGINT
-- @why    Counted while ingesting; only actions that occur have a row.
SELECT device, action, count
FROM snapshot_action
WHERE snapshot_id = $snapshot_id
ORDER BY device, action

-- @name   snapshot.actions
-- @title  Trace entries by action
-- @param  snapshot_id INTEGER
-- @col    device INTEGER
-- @col    action VARCHAR
-- @col    count  BIGINT
-- @why    Counted while ingesting; only actions that occur have a row.
SELECT device, action::VARCHAR AS action, count
FROM snapshot_action
WHERE snapshot_id = $snapshot_id
ORDER BY device, snapshot_action.action

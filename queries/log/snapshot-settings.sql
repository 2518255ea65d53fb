-- @name   log.snapshot_settings
-- @title  Allocator settings that the snapshots of a run recorded
-- @param  run_id INTEGER
-- @col    key   VARCHAR
-- @col    value VARCHAR
-- @col    rank  INTEGER?
-- @why    The allocator's own record is effective where variables only ask: PYTORCH_ALLOC_CONF and its older names, set late, or twice.
SELECT DISTINCT setting.key, setting.value, snapshot.rank
FROM snapshot_setting AS setting JOIN snapshot USING (snapshot_id)
WHERE snapshot.run_id = $run_id
ORDER BY setting.key, setting.value, snapshot.rank NULLS FIRST

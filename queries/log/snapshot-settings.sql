-- @name   log.snapshot_settings
-- @title  Allocator settings that the snapshots of a run recorded, with the ranks of each value
-- @param  run_id INTEGER
-- @col    key   VARCHAR
-- @col    value VARCHAR
-- @col    ranks INTEGER[] NULL among them: a snapshot of an unknown rank
-- @needs  snapshot_setting
-- @why    The allocator's own record is effective where variables only ask: PYTORCH_ALLOC_CONF and its older names, set late, or twice.
SELECT setting.key, setting.value, list(DISTINCT snapshot.rank ORDER BY snapshot.rank NULLS FIRST) AS ranks
FROM snapshot_setting AS setting JOIN snapshot USING (snapshot_id)
WHERE snapshot.run_id = $run_id
GROUP BY setting.key, setting.value
ORDER BY setting.key, setting.value

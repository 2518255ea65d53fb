-- @name   verdict.oom_account
-- @title  The reserve at the last OOM of a device, in parts that add up to it
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    part  VARCHAR
-- @col    bytes BIGINT
-- @why    Every account of a failure begins with these parts.
SELECT part, bytes FROM oom_account WHERE snapshot_id = $snapshot_id AND device = $device ORDER BY part

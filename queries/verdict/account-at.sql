-- @name   verdict.account_at
-- @title  The reserve of a device after one entry of its trace, in parts that add up to it
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    part  VARCHAR
-- @col    bytes BIGINT
-- @why    The account of the peak.
SELECT part, bytes FROM account_at($snapshot_id, $device, $at_seq) AS account ORDER BY part

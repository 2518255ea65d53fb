-- @name   verdict.oom_account
-- @title  The reserve at the last OOM of each device of a run, in parts that add up to it
-- @param  run_id INTEGER
-- @col    snapshot_id INTEGER
-- @col    device INTEGER
-- @col    part  VARCHAR
-- @col    bytes BIGINT
-- @needs  oom_state
-- @why    Every account of a failure begins with these parts.
SELECT account.snapshot_id, account.device, account.part, account.bytes
FROM oom_account AS account
JOIN snapshot ON snapshot.snapshot_id = account.snapshot_id
SEMI JOIN oom_state AS state ON state.snapshot_id = account.snapshot_id AND state.device = account.device
WHERE snapshot.run_id = $run_id
ORDER BY account.snapshot_id, account.device, account.part

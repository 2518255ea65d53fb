-- @name   replay.dumped_blocks
-- @title  All blocks of one device at the dump, free ones included
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    address    UBIGINT
-- @col    size_bytes BIGINT  actual size
-- @col    state      ENUM    code as in the ENUM block_state
-- @why    Where a replay has to end, block by block: a rule that is off by one shows nowhere else.
SELECT address, size_bytes, state
FROM block
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY address

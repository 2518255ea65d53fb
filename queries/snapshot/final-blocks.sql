-- @name   snapshot.final_blocks
-- @title  Active blocks of one device at the dump
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    address         UBIGINT
-- @col    size_bytes      BIGINT   actual size
-- @col    requested_bytes BIGINT?
-- @col    state           VARCHAR
-- @col    stack_id        INTEGER?
-- @why    Free blocks follow from these: torch always joins neighbouring ones.
SELECT address, size_bytes, requested_bytes, state::VARCHAR AS state, stack_id
FROM block
WHERE snapshot_id = $snapshot_id AND device = $device AND state <> 'inactive'
ORDER BY segment, address

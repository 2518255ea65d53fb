-- @name   replay.pooled_allocations
-- @title  Allocations in a known pool
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    from_seq INTEGER
-- @col    pool     INTEGER
-- @why    Before torch 2.12 entries do not name their pool; the segment they are in does.
SELECT from_seq, pool
FROM block_life
WHERE snapshot_id = $snapshot_id AND device = $device AND from_seq >= 0 AND pool IS NOT NULL
  AND pool NOT IN (
    SELECT zero.pool FROM snapshot_pool AS zero WHERE zero.snapshot_id = $snapshot_id AND zero.pool_id_a = 0 AND zero.pool_id_b = 0)
ORDER BY from_seq

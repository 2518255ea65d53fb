-- @name   history.has_pools
-- @title  Whether entries of a device name another pool than the default one
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    pooled BOOLEAN
-- @why    Else the walk need not read pools.
SELECT EXISTS (
  SELECT 1 FROM event JOIN snapshot_pool AS pool USING (snapshot_id, pool)
  WHERE event.snapshot_id = $snapshot_id AND event.device = $device AND (pool.pool_id_a <> 0 OR pool.pool_id_b <> 0)) AS pooled
LIMIT 1

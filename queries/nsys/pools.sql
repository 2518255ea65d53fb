-- @name   nsys.pools
-- @title  Pools of cudaMallocAsync: how much they held and how much of it was in use
-- @param  source_id INTEGER
-- @uses   _nsys.pool_states
-- @col    pid        INTEGER?
-- @col    device     INTEGER?
-- @col    peak_bytes BIGINT   held from the driver, at the most
-- @col    peak_used_bytes BIGINT?
-- @col    end_bytes  BIGINT
-- @col    end_used_bytes BIGINT?
-- @why    Allocations out of a pool are not the driver's: what the pool keeps is.
SELECT pid, device, max(pool_bytes) AS peak_bytes, max(pool_used_bytes) AS peak_used_bytes,
  arg_max(pool_bytes, (start_ns, seq)) AS end_bytes, arg_max(pool_used_bytes, (start_ns, seq)) AS end_used_bytes
FROM pool_states GROUP BY pid, device, address ORDER BY pid, device, address

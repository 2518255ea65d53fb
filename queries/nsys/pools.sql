-- @name   nsys.pools
-- @title  Pools of cudaMallocAsync: how much they held and how much of it was in use
-- @param  source_id INTEGER
-- @col    pid        INTEGER?
-- @col    device     INTEGER?
-- @col    address    BIGINT   of the pool
-- @col    peak_bytes BIGINT   held from the driver, at the most
-- @col    peak_used_bytes BIGINT?
-- @col    end_bytes  BIGINT
-- @col    end_used_bytes BIGINT?
-- @why    Allocations out of a pool are not the driver's: what the pool keeps is.
WITH states AS (
  SELECT pid, device, pool_address AS address, start_ns, seq, pool_bytes, pool_used_bytes FROM nsys_memory
  WHERE source_id = $source_id AND pool_address IS NOT NULL AND pool_address > 0 AND pool_bytes IS NOT NULL
  UNION ALL
  SELECT pid, device, address, start_ns, seq, CASE WHEN operation = 'destroyed' THEN 0 ELSE pool_bytes END, CASE WHEN operation = 'destroyed' THEN 0 ELSE pool_used_bytes END
  FROM nsys_pool WHERE source_id = $source_id AND address IS NOT NULL AND (pool_bytes IS NOT NULL OR operation = 'destroyed'))
SELECT pid, device, address::BIGINT AS address, max(pool_bytes) AS peak_bytes, max(pool_used_bytes) AS peak_used_bytes,
  arg_max(pool_bytes, (start_ns, seq)) AS end_bytes, arg_max(pool_used_bytes, (start_ns, seq)) AS end_used_bytes
FROM states GROUP BY pid, device, address ORDER BY pid, device, address

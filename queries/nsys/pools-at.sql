-- @name   nsys.pools_at
-- @title  What pools of cudaMallocAsync keep beyond what is in use, at one moment
-- @param  source_id INTEGER
-- @param  time_ns BIGINT
-- @param  pid INTEGER?
-- @param  device INTEGER?
-- @col    pools  BIGINT  with something unused
-- @col    bytes  BIGINT  held from the driver and not in use
-- @why    Allocations out of a pool are in the sums; what the pool keeps for the next one is held as well, and nobody's allocation.
WITH states AS (
  SELECT pool_address AS address, start_ns, seq, pool_bytes, pool_used_bytes FROM nsys_memory
  WHERE source_id = $source_id AND pid IS NOT DISTINCT FROM $pid AND device IS NOT DISTINCT FROM $device AND pool_address > 0 AND pool_bytes IS NOT NULL AND start_ns <= $time_ns
  UNION ALL
  SELECT address, start_ns, seq, CASE WHEN operation = 'destroyed' THEN 0 ELSE pool_bytes END, CASE WHEN operation = 'destroyed' THEN 0 ELSE pool_used_bytes END
  FROM nsys_pool
  WHERE source_id = $source_id AND pid IS NOT DISTINCT FROM $pid AND device IS NOT DISTINCT FROM $device AND address IS NOT NULL AND (pool_bytes IS NOT NULL OR operation = 'destroyed')
    AND start_ns <= $time_ns),
last AS (SELECT address, arg_max(pool_bytes, (start_ns, seq)) - coalesce(arg_max(pool_used_bytes, (start_ns, seq)), 0) AS unused FROM states GROUP BY address)
SELECT count(*) AS pools, coalesce(sum(unused), 0)::BIGINT AS bytes FROM last WHERE unused > 0
LIMIT 1

-- @name   nsys.pools_at
-- @title  What pools of cudaMallocAsync keep beyond what is in use, at one moment
-- @param  source_id INTEGER
-- @param  time_ns BIGINT
-- @param  pid INTEGER?
-- @param  device INTEGER?
-- @uses   _nsys.pool_states
-- @col    pools  BIGINT  with something unused
-- @col    bytes  BIGINT  held from the driver and not in use
-- @why    The sums contain the allocations from a pool; the memory that the pool keeps in reserve is held as well, without an allocation.
WITH last AS (
  SELECT address, arg_max(pool_bytes, (start_ns, seq)) - coalesce(arg_max(pool_used_bytes, (start_ns, seq)), 0) AS unused
  FROM pool_states
  WHERE pid IS NOT DISTINCT FROM $pid AND device IS NOT DISTINCT FROM $device AND start_ns <= $time_ns
  GROUP BY address)
SELECT count(*) AS pools, coalesce(sum(unused), 0)::BIGINT AS bytes FROM last WHERE unused > 0
LIMIT 1

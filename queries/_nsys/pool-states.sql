-- @name   _nsys.pool_states
-- @title  What each pool of cudaMallocAsync held and used after each of its events
-- @param  source_id INTEGER
-- @col    pid       INTEGER?
-- @col    device    INTEGER?
-- @col    address   UBIGINT  of the pool
-- @col    start_ns  BIGINT
-- @col    seq       INTEGER
-- @col    pool_bytes BIGINT
-- @col    pool_used_bytes BIGINT?
-- @why    Two kinds of events contain the state of a pool: allocations from it, and its creation, trimming and destruction.
SELECT pid, device, pool_address AS address, start_ns, seq, pool_bytes, pool_used_bytes
FROM nsys_memory WHERE source_id = $source_id AND pool_address > 0 AND pool_bytes IS NOT NULL
UNION ALL
SELECT pid, device, address, start_ns, seq, CASE WHEN operation = 'destroyed' THEN 0 ELSE pool_bytes END,
  CASE WHEN operation = 'destroyed' THEN 0 ELSE pool_used_bytes END
FROM nsys_pool WHERE source_id = $source_id AND address IS NOT NULL AND (pool_bytes IS NOT NULL OR operation = 'destroyed')

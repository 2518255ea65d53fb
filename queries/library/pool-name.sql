-- @name   library.pool_name
-- @kind   view
-- @title  What the pools of a snapshot are called
-- @col    snapshot_id INTEGER
-- @col    pool        INTEGER
-- @col    name        VARCHAR  default, graph pool 3, memory pool 1
-- @why    Of torch's pair of numbers, (0, 0) is the default pool, (n, 0) that of a CUDA graph, (0, n) a MemPool or one made by
--         graph_pool_handle().
SELECT
  snapshot_id, pool,
  CASE
    WHEN pool_id_a = 0 AND pool_id_b = 0 THEN 'default'
    WHEN pool_id_b = 0 THEN 'graph pool ' || pool_id_a
    WHEN pool_id_a = 0 THEN 'memory pool ' || pool_id_b
    ELSE 'pool ' || pool_id_a || ', ' || pool_id_b END AS name
FROM snapshot_pool

-- @name   snapshot.pool_ids
-- @title  The two numbers of each pool id of a snapshot
-- @param  snapshot_id INTEGER
-- @col    pool      INTEGER  as `pool` of event and segment
-- @col    pool_id_a BIGINT   (0, 0) is the default pool, (n, 0) a CUDA graph's
-- @col    pool_id_b BIGINT   (0, n) a MemPool's
-- @why    Pairs are interned per snapshot.
SELECT pool, pool_id_a, pool_id_b FROM snapshot_pool WHERE snapshot_id = $snapshot_id ORDER BY pool

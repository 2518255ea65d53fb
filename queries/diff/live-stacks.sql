-- @name   diff.live_stacks
-- @title  Live memory of a device after one entry of its trace, by stack, component and size of the blocks
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    stack_id   INTEGER?
-- @col    is_freed   BOOLEAN  only the stack of the free is known
-- @col    pool_id_a  BIGINT?  of memory without a stack: the pool of its segment; (0, 0): the default pool, or memory with a stack
-- @col    pool_id_b  BIGINT?
-- @col    component  VARCHAR? NULL: not labelled
-- @col    size_bytes BIGINT   of one block
-- @col    bytes      BIGINT
-- @col    count      BIGINT
-- @why    Memory without a stack can still be distinguished by its pool. Rows come in order of the first address of the stack, then of the
--         size: equal stacks are matched in this order.
WITH segment AS (SELECT address, pool FROM segments_at($snapshot_id, $device, $at_seq)),
live AS (
  SELECT address, stack_id, stack_origin = 'free_event' AS is_freed, actual_bytes, label FROM live_at($snapshot_id, $device, $at_seq)),
bare AS (
  SELECT live.address, segment.pool FROM live ASOF JOIN segment ON live.address >= segment.address WHERE live.stack_id IS NULL),
sums AS (
  SELECT live.stack_id, live.is_freed, bare.pool, live.label, live.actual_bytes AS size_bytes, sum(live.actual_bytes)::BIGINT AS bytes,
    count(*) AS count, min(live.address) AS address
  FROM live LEFT JOIN bare ON bare.address = live.address
  GROUP BY ALL)
SELECT
  sums.stack_id, sums.is_freed, CASE WHEN sums.pool IS NULL THEN 0 ELSE pool.pool_id_a END AS pool_id_a,
  CASE WHEN sums.pool IS NULL THEN 0 ELSE pool.pool_id_b END AS pool_id_b, label.component, sums.size_bytes, sums.bytes, sums.count
FROM sums
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = $snapshot_id AND pool.pool = sums.pool
LEFT JOIN label ON label.snapshot_id = $snapshot_id AND label.device = $device AND label.label = sums.label
ORDER BY min(sums.address) OVER (PARTITION BY sums.stack_id, sums.is_freed, pool.pool_id_a, pool.pool_id_b), sums.address

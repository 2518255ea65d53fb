-- @name   library.live_stacks_at
-- @kind   macro
-- @title  Live memory after one entry of a trace, by stack, component and size of the blocks
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    stack_id      INTEGER?
-- @col    kind          VARCHAR  what distinguishes memory of equal frames: only the free is known, or nothing is, and then the pool
-- @col    site          VARCHAR  function and file:line; of memory without frames its kind
-- @col    is_allocated_there BOOLEAN the stack is that of the allocation
-- @col    component     VARCHAR  unattributed: not labelled
-- @col    size_bytes    BIGINT   of one block
-- @col    bytes         BIGINT   of all
-- @col    blocks        BIGINT
-- @col    first_address UBIGINT  lowest of them
-- @why    Memory without a stack can still be distinguished by its pool.
WITH segment AS (SELECT address, pool FROM segments_at(snapshot_key, device_no, at_seq)),
live AS (
  SELECT address, stack_id, stack_origin = 'free_event' AS is_freed, actual_bytes, label FROM live_at(snapshot_key, device_no, at_seq)),
bare AS (
  SELECT live.address, segment.pool FROM live ASOF JOIN segment ON live.address >= segment.address WHERE live.stack_id IS NULL),
sums AS (
  SELECT live.stack_id, live.is_freed, bare.pool, live.label, live.actual_bytes AS size_bytes, sum(live.actual_bytes)::BIGINT AS bytes,
    count(*) AS blocks, min(live.address) AS first_address
  FROM live LEFT JOIN bare ON bare.address = live.address
  GROUP BY ALL),
named AS (
  SELECT sums.*, coalesce(label.component, 'unattributed') AS component, nullif(stack.site, '') AS frame,
    CASE
      WHEN sums.stack_id IS NULL THEN '(no stack: allocated before the recording)' || CASE
        WHEN sums.pool IS NULL OR pool.name = 'default' THEN '' ELSE ' in ' || coalesce(pool.name, 'unknown') END
      ELSE concat_ws(' ',
        CASE WHEN coalesce(stack.depth, 0) = 0 THEN '(no Python frames: autograd thread, or stacks not recorded)' END,
        CASE WHEN sums.is_freed THEN '(freed there; allocated before the recording)' END) END AS kind
  FROM sums
  LEFT JOIN stack ON stack.stack_id = sums.stack_id
  LEFT JOIN pool_name AS pool ON pool.snapshot_id = snapshot_key AND pool.pool = sums.pool
  LEFT JOIN label ON label.snapshot_id = snapshot_key AND label.device = device_no AND label.label = sums.label)
SELECT
  stack_id, kind, concat_ws(' ', frame, nullif(kind, '')) AS site, stack_id IS NOT NULL AND NOT is_freed AS is_allocated_there, component,
  size_bytes, sum(bytes)::BIGINT AS bytes, sum(blocks)::BIGINT AS blocks, min(first_address) AS first_address
FROM named
GROUP BY stack_id, kind, frame, is_freed, component, size_bytes

-- @name   library.account_at
-- @kind   macro
-- @title  The reserve of a device after one entry of its trace, in parts that add up to it
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    part  VARCHAR  requested, rounding, request_not_recorded, pending_free, private_pools_live, private_pools_free, cached_…
-- @col    bytes BIGINT   actual sizes
-- @why    Cached blocks of the default pool are divided by whether a flush gives them back: cached_small_pool, cached_releasable,
--         cached_page_pinned (on a page of an expandable segment with a live block), cached_between_live_blocks. oom_account divides
--         them against the request that failed.
WITH live AS (
  SELECT unnest([
    {part: 'requested', bytes: requested_bytes}, {part: 'rounding', bytes: rounding_bytes},
    {part: 'request_not_recorded', bytes: request_not_recorded_bytes}, {part: 'pending_free', bytes: default_pending_bytes},
    {part: 'private_pools_live', bytes: private_live_bytes}]) AS item
  FROM totals_at(snapshot_key, device_no, at_seq) AS total),
hole AS (
  SELECT CASE reason WHEN 'private_pool' THEN 'private_pools_free' ELSE 'cached_' || reason END AS part,
    sum(CASE WHEN reason = 'page_pinned' THEN bytes - releasable_bytes ELSE bytes END) AS bytes,
    sum(CASE WHEN reason = 'page_pinned' THEN releasable_bytes ELSE 0 END) AS releasable
  FROM free_at(snapshot_key, device_no, at_seq) AS hole
  GROUP BY part),
share AS (
  SELECT item.part AS part, item.bytes AS bytes FROM live
  UNION ALL SELECT part, bytes FROM hole
  UNION ALL SELECT 'cached_releasable', releasable FROM hole)
SELECT part, sum(bytes)::BIGINT AS bytes
FROM share
GROUP BY part
HAVING sum(bytes) <> 0

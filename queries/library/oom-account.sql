-- @name   library.oom_account
-- @kind   view
-- @title  The reserve at the last OOM of each device, in parts that add up to it
-- @col    run         VARCHAR
-- @col    rank        INTEGER?
-- @col    snapshot_id INTEGER
-- @col    device      INTEGER
-- @col    seq         INTEGER  the OOM entry; the parts are those just before it
-- @col    part        VARCHAR  requested, rounding, request_not_recorded, pending_free, private_pools_live, private_pools_free, cached_…
-- @col    bytes       BIGINT   actual sizes
-- @why    Cached blocks of the default pool are divided by why the request could not have them: cached_too_small (cached_page_pinned
--         where their pages of an expandable segment are shared with live blocks), cached_kept_for_larger (max_split_size_mb),
--         cached_large_enough, cached_other_stream, cached_other_size_class.
WITH live AS (
  SELECT snapshot_id, device, seq, unnest([
    {part: 'requested', bytes: requested_bytes}, {part: 'rounding', bytes: rounding_bytes},
    {part: 'request_not_recorded', bytes: request_not_recorded_bytes}, {part: 'pending_free', bytes: default_pending_bytes},
    {part: 'private_pools_live', bytes: private_live_bytes}]) AS item
  FROM oom_state),
share AS (
  SELECT snapshot_id, device, seq, item.part AS part, item.bytes AS bytes FROM live
  UNION ALL
  SELECT snapshot_id, device, seq, CASE reason WHEN 'private_pool' THEN 'private_pools_free' ELSE 'cached_' || reason END,
    bytes - page_pinned_bytes
  FROM oom_hole
  UNION ALL
  SELECT snapshot_id, device, seq, 'cached_page_pinned', page_pinned_bytes FROM oom_hole)
SELECT
  run.name AS run, snapshot.rank, share.snapshot_id, share.device, share.seq, share.part, sum(share.bytes)::BIGINT AS bytes
FROM share
JOIN snapshot ON snapshot.snapshot_id = share.snapshot_id
JOIN run ON run.run_id = snapshot.run_id
GROUP BY ALL
HAVING sum(share.bytes) <> 0

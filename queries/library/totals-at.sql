-- @name   library.totals_at
-- @kind   macro
-- @title  Sums of a device after one entry of its trace
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    reserved_bytes         BIGINT
-- @col    private_reserved_bytes BIGINT   of it, of other pools than the default one
-- @col    allocated_bytes        BIGINT   actual sizes, all pools
-- @col    pending_bytes          BIGINT   freed, and still used by a stream; all pools
-- @col    private_live_bytes     BIGINT   allocated and pending in other pools than the default one
-- @col    default_pending_bytes  BIGINT   pending in the default pool
-- @col    requested_bytes        BIGINT   requests of allocated blocks in the default pool
-- @col    rounding_bytes         BIGINT   what these blocks have beyond their requests
-- @col    request_not_recorded_bytes BIGINT allocated blocks of the default pool without a request
-- @col    uncertain_blocks       BIGINT   the trace only bounds their sizes
-- @col    uncertain_bytes        BIGINT   by so much
-- @why    Every account of a moment begins with these sums. account_at lists those that add up to the reserve.
WITH segment AS (
  SELECT extent.address, extent.total_bytes, (pool.pool_id_a <> 0 OR pool.pool_id_b <> 0) IS TRUE AS is_private
  FROM segments_at(snapshot_key, device_no, at_seq) AS extent
  LEFT JOIN (SELECT * FROM snapshot_pool WHERE snapshot_id = snapshot_key) AS pool ON pool.pool = extent.pool),
live AS (
  SELECT block.actual_bytes, block.requested_bytes AS requested, block.most_bytes - block.least_bytes AS uncertain,
    CASE WHEN segment.is_private THEN 'private' WHEN block.state = 'active_pending_free' THEN 'pending'
      WHEN block.requested_bytes <= block.actual_bytes THEN 'known' ELSE 'unknown' END AS kind,
    block.state = 'active_pending_free' AS is_pending
  FROM live_at(snapshot_key, device_no, at_seq) AS block
  ASOF LEFT JOIN segment ON block.address >= segment.address),
held AS (
  SELECT
    sum(actual_bytes) FILTER (NOT is_pending) AS allocated, sum(actual_bytes) FILTER (is_pending) AS pending,
    sum(actual_bytes) FILTER (kind = 'private') AS private_live, sum(actual_bytes) FILTER (kind = 'pending') AS default_pending,
    sum(requested) FILTER (kind = 'known') AS requests, sum(actual_bytes) FILTER (kind = 'known') AS with_request,
    sum(actual_bytes) FILTER (kind = 'unknown') AS not_recorded,
    count(*) FILTER (uncertain > 0) AS uncertain_blocks, sum(uncertain) AS uncertain
  FROM live),
reserve AS (SELECT sum(total_bytes) AS reserved, sum(total_bytes) FILTER (is_private) AS private FROM segment)
SELECT
  coalesce(reserve.reserved, 0)::BIGINT AS reserved_bytes, coalesce(reserve.private, 0)::BIGINT AS private_reserved_bytes,
  coalesce(held.allocated, 0)::BIGINT AS allocated_bytes, coalesce(held.pending, 0)::BIGINT AS pending_bytes,
  coalesce(held.private_live, 0)::BIGINT AS private_live_bytes, coalesce(held.default_pending, 0)::BIGINT AS default_pending_bytes,
  coalesce(held.requests, 0)::BIGINT AS requested_bytes, coalesce(held.with_request - held.requests, 0)::BIGINT AS rounding_bytes,
  coalesce(held.not_recorded, 0)::BIGINT AS request_not_recorded_bytes, held.uncertain_blocks,
  coalesce(held.uncertain, 0)::BIGINT AS uncertain_bytes
FROM held CROSS JOIN reserve

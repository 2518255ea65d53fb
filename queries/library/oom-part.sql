-- @name   library.oom_part
-- @kind   table
-- @title  The ledger of each failure: the device in parts, what could be had of each, and whether that alone would have served the request
-- @col    run         VARCHAR  name of the run
-- @col    run_id      INTEGER  the run
-- @col    failure     INTEGER  within the run
-- @col    rank        INTEGER?  global rank
-- @col    device      INTEGER?  device
-- @col    part        VARCHAR  live; cached (free inside PyTorch, outside private pools); pending_free; private_pools_free; device_free
--         (that the process may use); not_allowed (free, above a limit); outside_pytorch (of this process, or of unknown owner);
--         sibling_processes (contexts of other ranks); other_processes
-- @col    bytes       BIGINT  of the part
-- @col    precision_bytes BIGINT  half of the last printed digits
-- @col    obtainable_bytes BIGINT  what could be had of it without making anything smaller
-- @col    serves      BOOLEAN? with it the driver, or the cache, has what was asked; NULL: the rounding of the message decides
-- @col    left_bytes  BIGINT?  and so much would be left
-- @needs  oom_fact
-- @why    One rule instead of shares of the device: what would have served, and with how much left. Memory outside PyTorch counts
--         above what is normal for such a run, and what a profile shows to be taken after the first step, by when a healthy run has its
--         communicators and libraries; all of another process counts.
WITH known AS (
  SELECT sum.*, fact.allocated_bytes, fact.allocated_precision_bytes, fact.reserved_bytes, fact.pending_bytes, fact.private_free_bytes,
    fact.private_free_precision_bytes, fact.device_free_bytes, fact.device_free_precision_bytes, fact.least_request_bytes,
    fact.segment_request_bytes, fact.total_precision_bytes, coalesce(fact.sibling_bytes, 0) AS sibling_bytes, fact.reserved_precision_bytes,
    fact.driver_grown_bytes
  FROM oom_sum AS sum
  JOIN oom_fact AS fact ON fact.run_id = sum.run_id AND fact.failure = sum.failure),
item AS (
  SELECT * EXCLUDE (each), each.part AS part, each.bytes AS bytes, each.precision AS precision, each.obtainable AS obtainable
  FROM (SELECT *, unnest([
    {part: 'live', bytes: allocated_bytes, precision: allocated_precision_bytes, obtainable: 0},
    {part: 'cached', bytes: reserved_bytes - live_bytes - coalesce(private_free_bytes, 0), precision: free_inside_precision_bytes,
      obtainable: reserved_bytes - live_bytes - coalesce(private_free_bytes, 0)},
    {part: 'pending_free', bytes: pending_bytes, precision: 0, obtainable: pending_bytes},
    {part: 'private_pools_free', bytes: private_free_bytes, precision: private_free_precision_bytes, obtainable: private_free_bytes},
    {part: 'device_free', bytes: allowed_free_bytes, precision: 0, obtainable: 0},
    {part: 'not_allowed', bytes: device_free_bytes - allowed_free_bytes, precision: 0,
      obtainable: device_free_bytes - allowed_free_bytes},
    {part: 'outside_pytorch', bytes: outside_bytes - foreign_bytes, precision: outside_precision_bytes,
      obtainable: greatest(0, least(outside_bytes - foreign_bytes,
        greatest(outside_bytes - foreign_bytes - normal_outside_bytes, driver_grown_bytes)))},
    {part: 'sibling_processes', bytes: sibling_bytes, precision: 0, obtainable: sibling_bytes},
    {part: 'other_processes', bytes: foreign_bytes - sibling_bytes, precision: 0, obtainable: foreign_bytes - sibling_bytes}]) AS each
    FROM known))
SELECT
  run, run_id, failure, rank, device, part, bytes::BIGINT AS bytes, coalesce(precision, 0)::BIGINT AS precision_bytes,
  obtainable::BIGINT AS obtainable_bytes,
  CASE WHEN allowed_free_bytes + obtainable - coalesce(precision, 0) - device_free_precision_bytes >= segment_request_bytes THEN true
    WHEN allowed_free_bytes + obtainable + coalesce(precision, 0) + device_free_precision_bytes < least_request_bytes THEN false END
    AS serves,
  (allowed_free_bytes + obtainable - least_request_bytes)::BIGINT AS left_bytes
FROM item
WHERE bytes > 0

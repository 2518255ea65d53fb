-- @name   library.oom_contributor
-- @kind   view
-- @title  What takes part in each failure besides what is live: memory outside PyTorch, and memory inside that the request could not have
-- @needs  oom_fact
-- @col    run         VARCHAR
-- @col    run_id      INTEGER
-- @col    failure     INTEGER  within the run
-- @col    rank        INTEGER?
-- @col    device      INTEGER?
-- @col    contributor VARCHAR  other_processes, outside_pytorch (of this process, or of unknown owner), pending_free, private_pools_free,
--         cached
-- @col    bytes       BIGINT
-- @col    share       DOUBLE   of what the process could have; of the device, where that is unknown
-- @col    is_notable  BOOLEAN  large enough to be named
-- @why    On a device that is full in any case these are not the cause: without any one of them it would still be full.
WITH part AS (
  SELECT sum.run, sum.run_id, sum.failure, sum.rank, sum.device, coalesce(sum.limit_bytes, fact.total_bytes) AS whole_bytes, unnest([
      {contributor: 'other_processes', bytes: fact.other_processes_bytes},
      {contributor: 'outside_pytorch', bytes: sum.outside_bytes - fact.other_processes_bytes},
      {contributor: 'pending_free', bytes: fact.pending_bytes},
      {contributor: 'private_pools_free', bytes: fact.private_free_bytes},
      {contributor: 'cached', bytes: fact.reserved_bytes - sum.live_bytes - coalesce(fact.private_free_bytes, 0)}]) AS item
  FROM oom_sum AS sum
  JOIN oom_fact AS fact ON fact.run_id = sum.run_id AND fact.failure = sum.failure)
SELECT
  part.run, part.run_id, part.failure, part.rank, part.device, part.item.contributor AS contributor, part.item.bytes::BIGINT AS bytes,
  part.item.bytes / part.whole_bytes AS share,
  part.item.bytes >= threshold.contributor_share * part.whole_bytes AS is_notable
FROM part
CROSS JOIN cause_threshold AS threshold
WHERE part.item.bytes > 0 AND part.whole_bytes > 0

-- @name   library.oom_sum
-- @kind   view
-- @title  The sums of each failure that the tests of causes share
-- @needs  oom_fact
-- @col    run             VARCHAR
-- @col    run_id          INTEGER
-- @col    failure         INTEGER  within the run
-- @col    rank            INTEGER?
-- @col    device          INTEGER?
-- @col    live_bytes      BIGINT?  allocated and pending
-- @col    limit_bytes     BIGINT?  what the process could have: reserved and free, or what a memory fraction allows if that is less
-- @col    is_fraction     BOOLEAN  a memory fraction is the limit
-- @col    short_bytes     BIGINT?  live and asked beyond the limit; negative: what would be left
-- @col    precision_bytes BIGINT?  of the shortfall
-- @col    outside_bytes   BIGINT?  of the device: neither free nor this allocator's
-- @col    slack_may_decide BOOLEAN blocks handed out whole under max_split_size_mb may hold what is missing, and how much they hold is
--         unknown
-- @col    projected_bytes BIGINT?  live at the peak of a step like the last whole one
-- @col    step_outcome    VARCHAR? whether that step fits the limit: fits, beyond, close (nearer than the projection is sure), unlike (the
--         failing step asks for other memory); NULL: no whole step comes before it in the trace
-- @col    numbers         MAP(VARCHAR, DOUBLE)? live, requested (least, and as printed), limit, and what is missing or left
-- @why    A message prints the segment that was requested, up to 2 MiB more than the allocation. Sums take the least that it may be;
--         numbers also has what was printed, where the statement about the sum is true of it too. A message counts blocks that were
--         handed out whole as allocated, and prints no more about them.
WITH summed AS (
  SELECT *, allocated_bytes + coalesce(pending_bytes, 0) AS live_bytes, reserved_bytes + device_free_bytes AS reach_bytes,
    reserved_precision_bytes + device_free_precision_bytes AS reach_precision_bytes
  FROM oom_fact),
limited AS (
  SELECT *, coalesce(allowed_bytes < reach_bytes, false) AS is_fraction,
    CASE WHEN allowed_bytes < reach_bytes THEN allowed_bytes ELSE reach_bytes END AS limit_bytes,
    CASE WHEN allowed_bytes < reach_bytes THEN allowed_precision_bytes ELSE reach_precision_bytes END AS limit_precision_bytes
  FROM summed),
short AS (SELECT *, live_bytes + least_request_bytes - limit_bytes AS short_bytes FROM limited)
SELECT
  run.name AS run, short.run_id, short.failure, short.rank, short.device, short.live_bytes, short.limit_bytes, short.is_fraction,
  short.short_bytes, short.allocated_precision_bytes + short.limit_precision_bytes AS precision_bytes,
  short.total_bytes - short.device_free_bytes - coalesce(short.reserved_bytes, short.process_bytes) AS outside_bytes,
  coalesce(short.oversize_slack_bytes IS NULL AND short.max_split_bytes IS NOT NULL AND short.short_bytes > 0
    AND short.short_bytes <= threshold.oversize_slack_share * short.live_bytes, false) AS slack_may_decide,
  short.projected_bytes,
  CASE
    WHEN short.projected_bytes IS NULL OR short.short_bytes IS NULL THEN NULL
    WHEN coalesce(short.alike_share, 0) < threshold.alike_step_share THEN 'unlike'
    WHEN short.projected_bytes - short.limit_bytes > threshold.projection_share * short.projected_bytes THEN 'beyond'
    WHEN short.limit_bytes - short.projected_bytes < threshold.projection_share * short.projected_bytes THEN 'close'
    ELSE 'fits' END AS step_outcome,
  CASE WHEN short.short_bytes IS NOT NULL THEN map_concat(MAP {
    'live_bytes': short.live_bytes::DOUBLE, 'request_bytes': short.least_request_bytes::DOUBLE, 'limit_bytes': short.limit_bytes::DOUBLE,
    CASE WHEN short.short_bytes > 0 THEN 'short_bytes' ELSE 'spare_bytes' END: abs(short.short_bytes)::DOUBLE},
    CASE WHEN short.request_bytes > short.least_request_bytes
      AND (short.short_bytes > 0 OR short.live_bytes + short.request_bytes <= short.limit_bytes)
      THEN MAP {'printed_request_bytes': short.request_bytes::DOUBLE} END) END AS numbers
FROM short
JOIN run ON run.run_id = short.run_id
CROSS JOIN cause_threshold AS threshold

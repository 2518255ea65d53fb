-- @name   library.oom_sum
-- @kind   table
-- @title  The sums of each failure that the tests of causes share
-- @col    run             VARCHAR  name of the run
-- @col    run_id          INTEGER  the run
-- @col    failure         INTEGER  within the run
-- @col    rank            INTEGER?  global rank
-- @col    device          INTEGER?  device
-- @col    live_bytes      BIGINT?  allocated and pending
-- @col    limit_bytes     BIGINT?  what the process could have: reserved and free, or what a memory fraction allows if that is less
-- @col    is_fraction     BOOLEAN  a memory fraction is the limit
-- @col    short_bytes     BIGINT?  live and asked beyond the limit; negative: what would be left
-- @col    precision_bytes BIGINT?  of the shortfall: of the figures that remain in it after those that cancel
-- @col    free_inside_precision_bytes BIGINT?  of reserved less live
-- @col    allowed_free_bytes BIGINT? free on the device, within the limit
-- @col    refusal         VARCHAR? limit: the device had what was asked, and a known limit refused it; hidden: an exact walk shows that no
--         block served, so a limit did; unknown: the message alone does not show why it was refused
-- @col    is_nearly_full  BOOLEAN  with all free memory in one piece, hardly anything would be left
-- @col    bound_bytes     BIGINT?  where reserved is not printed: the most that would be left, if nothing were held outside PyTorch
-- @col    outside_bytes   BIGINT?  of the device: neither free nor this allocator's
-- @col    outside_precision_bytes BIGINT?  half of the last printed digit
-- @col    foreign_bytes   BIGINT?  of these, of other processes
-- @col    normal_outside_bytes BIGINT  the most that is normal outside PyTorch for such a run
-- @col    slack_may_decide BOOLEAN blocks handed out whole under max_split_size_mb may hold what is missing, and how much they hold is
--         unknown
-- @col    projected_bytes BIGINT?  live at the peak of a step like the last whole one
-- @col    step_outcome    VARCHAR? whether that step fits the limit: fits, beyond, close (nearer than the projection is sure), unlike (the
--         failing step asks for other memory); NULL: no whole step comes before it in the trace
-- @col    numbers         MAP(VARCHAR, DOUBLE)? live, requested (least, and as printed), limit, and what is missing or left
-- @needs  oom_fact
-- @why    A message prints the segment that was requested, up to 2 MiB more than the allocation. Sums take the least that it may be;
--         numbers also has what was printed, where the statement about the sum is true of it too. A message counts blocks that were
--         handed out whole as allocated, and prints no more about them. Where it prints allocated and cached, the allocated bytes cancel:
--         live + asked - (allocated + cached + free) leaves asked - cached - free.
WITH summed AS (
  SELECT *, allocated_bytes + coalesce(pending_bytes, 0) AS live_bytes, reserved_bytes + device_free_bytes AS reach_bytes,
    coalesce(cached_precision_bytes, reserved_precision_bytes + allocated_precision_bytes) AS free_inside_precision_bytes,
    CASE WHEN allowed_bytes IS NULL THEN device_free_bytes
      ELSE least(device_free_bytes, greatest(0, allowed_bytes - coalesce(reserved_bytes, 0))) END AS allowed_free_bytes
  FROM oom_fact),
limited AS (
  SELECT *, coalesce(allowed_bytes < reach_bytes, false) AS is_fraction,
    CASE WHEN allowed_bytes < reach_bytes THEN allowed_bytes ELSE reach_bytes END AS limit_bytes,
    CASE WHEN allowed_bytes < reach_bytes THEN allocated_precision_bytes + allowed_precision_bytes
      ELSE free_inside_precision_bytes + device_free_precision_bytes END AS short_precision_bytes
  FROM summed),
short AS (
  SELECT limited.*, limited.live_bytes + limited.least_request_bytes - limited.limit_bytes AS short_bytes,
    limited.total_bytes - limited.device_free_bytes - coalesce(limited.reserved_bytes, limited.process_bytes) AS outside_bytes,
    limited.total_precision_bytes + limited.device_free_precision_bytes
      + coalesce(limited.reserved_precision_bytes, limited.process_precision_bytes) AS outside_precision_bytes,
    greatest(context.most_bytes, least(normal.most_bytes, (normal.most_share * limited.total_bytes)::BIGINT)) AS normal_outside_bytes,
    context.most_bytes AS context_bytes
  FROM limited
  LEFT JOIN judged_run ON judged_run.run_id = limited.run_id
  JOIN normal_outside AS normal ON normal.scope = CASE WHEN judged_run.world_size = 1 THEN 'one_process' ELSE 'distributed' END
  JOIN normal_outside AS context ON context.scope = 'one_process'),
shared AS (
  SELECT *, least(greatest(0, outside_bytes), greatest(other_processes_bytes,
    -- What no process is named for: less than a CUDA context is the driver's own, and rounding.
    CASE WHEN total_bytes - device_free_bytes - process_bytes - other_processes_bytes > outside_precision_bytes + context_bytes
      THEN total_bytes - device_free_bytes - process_bytes ELSE 0 END,
    least(coalesce(monitored_others_bytes, 0), outside_bytes))) AS foreign_bytes,
    CASE
      WHEN segment_request_bytes IS NULL OR device_free_bytes IS NULL THEN NULL
      -- A limit that is known: without it the device serves the request, or both do together.
      WHEN is_fraction AND allowed_free_bytes < segment_request_bytes
        AND (device_free_bytes - device_free_precision_bytes >= segment_request_bytes
          OR short_bytes > 0 AND live_bytes + least_request_bytes <= reach_bytes) THEN 'limit'
      WHEN is_fraction OR allowed_free_bytes - device_free_precision_bytes
          < segment_request_bytes + threshold.free_beyond_request_bytes THEN NULL
      -- Another allocator behind the pool, or frees of another thread at that moment, are the unlikely explanations left.
      WHEN has_free_space AND device_free_precision_bytes = 0 AND largest_usable_bytes < least_request_bytes THEN 'hidden'
      WHEN NOT has_free_space THEN 'unknown' END AS refusal
  FROM short
  CROSS JOIN cause_threshold AS threshold)
SELECT
  run.name AS run, short.run_id, short.failure, short.rank, short.device, short.live_bytes, short.limit_bytes, short.is_fraction,
  short.short_bytes, short.short_precision_bytes AS precision_bytes, short.free_inside_precision_bytes,
  CASE WHEN short.refusal = 'hidden' THEN 0 ELSE short.allowed_free_bytes END AS allowed_free_bytes,
  short.refusal,
  coalesce(-short.short_bytes < threshold.nearly_full_share * coalesce(short.total_bytes, short.limit_bytes)
    AND short.short_bytes <= short.short_precision_bytes, false) AS is_nearly_full,
  CASE WHEN short.reserved_bytes IS NULL THEN coalesce(short.process_bytes + short.device_free_bytes, short.total_bytes)
    - short.live_bytes - short.least_request_bytes END AS bound_bytes,
  short.outside_bytes, short.outside_precision_bytes, short.foreign_bytes, short.normal_outside_bytes,
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
FROM shared AS short
JOIN run ON run.run_id = short.run_id
CROSS JOIN cause_threshold AS threshold

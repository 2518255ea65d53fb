-- @name   library.cause_fragmentation
-- @kind   view
-- @title  Whether enough is free inside the reserve and on the device together, but not in one piece that the request may use
-- @col    run_id     INTEGER
-- @col    failure    INTEGER   within the run
-- @col    reason     VARCHAR   a row of cause_reason
-- @col    confidence VARCHAR   of an outcome that holds, by its own figures
-- @col    doubts     VARCHAR[] evidence against the outcome
-- @col    numbers    MAP(VARCHAR, DOUBLE)  what it was decided by; names end in their unit
-- @why    Without a snapshot the pieces are unknown: then it holds where the sum is clear and the driver had less free than it was asked
--         for.
WITH joined AS (
  SELECT sum.*, fact.* EXCLUDE (run_id, failure, rank, device, projected_bytes), threshold.*, -sum.short_bytes AS spare_bytes,
    fact.reserved_bytes - sum.live_bytes - coalesce(fact.private_free_bytes, 0) + sum.allowed_free_bytes - fact.least_request_bytes
      AS left_bytes,
    coalesce(fact.oversize_slack_bytes, 0) AS slack_bytes, coalesce(fact.trace_activity, fact.run_activity) AS activity
  FROM oom_sum AS sum
  JOIN oom_fact AS fact ON fact.run_id = sum.run_id AND fact.failure = sum.failure
  CROSS JOIN cause_threshold AS threshold),
reasoned AS (
  SELECT *,
    CASE
      WHEN short_bytes IS NULL OR request_bytes IS NULL THEN 'figures_missing'
      WHEN short_bytes > 0 AND short_bytes <= slack_bytes THEN 'oversize_slack'
      WHEN slack_may_decide THEN 'slack_unknown'
      WHEN short_bytes > 0 OR refusal IN ('limit', 'hidden') AND left_bytes < 0 THEN 'too_little_free'
      WHEN short_bytes + private_free_bytes > precision_bytes THEN 'free_in_pools_only'
      WHEN refusal = 'unknown' OR NOT has_free_space AND device_free_bytes >= segment_request_bytes AND NOT is_fraction
        THEN 'device_had_more'
      WHEN is_nearly_full AND step_outcome IS DISTINCT FROM 'fits' THEN 'nearly_full'
      WHEN NOT has_free_space AND spare_bytes <= precision_bytes THEN 'within_rounding'
      WHEN NOT has_free_space THEN 'free_in_pieces'
      WHEN largest_usable_bytes >= least_request_bytes AND max_split_bytes IS NOT NULL THEN 'kept_for_larger'
      WHEN largest_usable_bytes >= least_request_bytes THEN 'block_fits'
      WHEN greatest(usable_bytes, other_stream_bytes, other_class_bytes) = usable_bytes
        THEN CASE WHEN is_expandable THEN 'page_pinning' ELSE 'split_remainder' END
      WHEN other_stream_bytes >= other_class_bytes THEN 'other_stream'
      ELSE 'small_large_pool' END AS reason
  FROM joined),
tested AS (
  SELECT * EXCLUDE (numbers),
    CASE reason
      WHEN 'free_in_pieces' THEN 'medium'
      WHEN 'kept_for_larger' THEN 'high'
      WHEN 'oversize_slack' THEN CASE WHEN walk_is_exact THEN 'high' ELSE 'medium' END
      ELSE CASE WHEN walk_is_exact AND uncertain_bytes < least_request_bytes THEN 'high' ELSE 'medium' END END AS confidence,
    CASE WHEN reason IN ('free_in_pieces', 'page_pinning', 'split_remainder', 'other_stream', 'small_large_pool') THEN list_filter([
      CASE WHEN step_outcome = 'close' THEN 'step_hardly_fits' END,
      CASE WHEN is_fraction AND device_free_bytes >= segment_request_bytes THEN 'fraction_refused' END,
      CASE WHEN activity IN ('checkpoint_save', 'checkpoint_load')
        THEN CASE WHEN trace_activity IS NULL THEN 'checkpoint_of_unknown_size'
          WHEN activity_bytes >= checkpoint_share * limit_bytes THEN 'checkpoint_in_the_making' END END],
      lambda doubt: doubt IS NOT NULL) ELSE [] END::VARCHAR[] AS doubts,
    CASE
      WHEN reason = 'figures_missing' THEN MAP {}::MAP(VARCHAR, DOUBLE)
      WHEN reason = 'oversize_slack' THEN map_concat(numbers, MAP {'oversize_slack_bytes': slack_bytes::DOUBLE})
      WHEN short_bytes > 0 OR reason = 'free_in_pools_only' OR NOT has_free_space THEN map_concat(numbers,
        MAP {'cached_bytes': (reserved_bytes - live_bytes)::DOUBLE,
          'left_bytes': left_bytes::DOUBLE})
      ELSE map_concat(numbers, MAP {'cached_bytes': (reserved_bytes - live_bytes)::DOUBLE,
        'left_bytes': left_bytes::DOUBLE, 'largest_usable_bytes': largest_usable_bytes::DOUBLE,
        'free_too_small_bytes': usable_bytes::DOUBLE, 'free_other_stream_bytes': other_stream_bytes::DOUBLE,
        'free_other_class_bytes': other_class_bytes::DOUBLE}) END AS numbers
  FROM reasoned)
SELECT run_id, failure, reason, confidence, doubts, numbers
FROM tested

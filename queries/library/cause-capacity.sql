-- @name   library.cause_capacity
-- @kind   view
-- @title  Whether live memory and the request exceed what the process could have: no allocator setting can help
-- @col    run_id     INTEGER
-- @col    failure    INTEGER   within the run
-- @col    reason     VARCHAR   a row of cause_reason
-- @col    confidence VARCHAR   of an outcome that holds, by its own figures
-- @col    doubts     VARCHAR[] evidence against the outcome
-- @col    numbers    MAP(VARCHAR, DOUBLE)  what it was decided by; names end in their unit
-- @why    The detail is the first that explains most: a limit, then a shape, then a setting that wastes memory, then a short peak or a
--         stage that holds more than others. A checkpoint's copies come before a stage's share, since they are freed a moment later.
--         Rounding cuts both ways: printed figures that just fit do not rule it out either. A step is not over at its OOM: where one like
--         it was, and would not fit now, no layout helps, however much is free at this moment.
WITH passed AS (
  SELECT run_id, failure, count(*) AS steps, max(peak_bytes) AS peak_bytes FROM oom_step GROUP BY run_id, failure),
joined AS (
  SELECT sum.*, fact.* EXCLUDE (run_id, failure, rank, device, projected_bytes), threshold.*,
    coalesce(fact.oversize_slack_bytes, 0) AS slack_bytes, coalesce(fact.trace_activity, fact.run_activity) AS activity,
    coalesce(passed.steps, 0) AS passed_steps,
    coalesce(passed.peak_bytes, fact.highest_bytes) AS before_bytes,
    coalesce(fact.stage IS NOT NULL AND fact.stages >= 2 AND fact.only_this_stage
      AND fact.next_stage_bytes <= threshold.other_stage_share * fact.own_stage_bytes, false) AS is_fullest_stage,
    -- Of checkpoints all that the trace shows of the activity; of others only if it is the failing one.
    coalesce(fact.activity_bytes, 0) + fact.least_request_bytes AS spike_bytes, sum.live_bytes - coalesce(fact.activity_bytes, 0)
      AS other_bytes
  FROM oom_sum AS sum
  JOIN oom_fact AS fact ON fact.run_id = sum.run_id AND fact.failure = sum.failure
  LEFT JOIN passed ON passed.run_id = sum.run_id AND passed.failure = sum.failure
  CROSS JOIN cause_threshold AS threshold),
detailed AS (
  SELECT *,
    CASE
      WHEN least_request_bytes > limit_bytes THEN 'beyond_limit'
      WHEN rounding_waste_bytes >= short_bytes THEN 'rounding'
      WHEN activity = 'optimizer_init' THEN 'optimizer_states'
      -- A save comes after steps that fitted. Before the first step, or while loading, the copies have to be visible.
      WHEN activity IN ('checkpoint_save', 'checkpoint_load')
        THEN CASE WHEN CASE WHEN has_trace THEN other_bytes <= limit_bytes
            ELSE activity = 'checkpoint_save' AND greatest(coalesce(completed_steps, 0), passed_steps) > 0 END
          THEN 'checkpoint' ELSE 'full_in_checkpoint' END
      -- Where every replica of a stage fails alike, it is the stage and not one long sequence.
      WHEN activity = 'logits_loss' AND NOT (several_replicas AND is_fullest_stage) AND before_bytes <= steady_share * limit_bytes
        AND greatest(passed_steps + CASE WHEN has_earlier_states THEN 1 ELSE 0 END, coalesce(completed_steps, 0)) >= steady_steps
        AND (trace_activity IS NULL OR other_bytes <= steady_share * limit_bytes) THEN 'logits'
      -- Before the first step is over, large tensors are buffers that stay.
      WHEN (coalesce(completed_steps, 0) > 0 OR passed_steps > 0) AND least_request_bytes >= large_request_share * limit_bytes
        AND live_bytes <= steady_share * limit_bytes THEN 'one_tensor'
      WHEN is_fullest_stage THEN 'stage'
      ELSE 'full' END AS detail_reason
  FROM joined),
reasoned AS (
  SELECT *,
    CASE
      WHEN least_request_bytes > total_bytes AND request_bytes IS NOT NULL THEN 'beyond_device'
      -- Some messages (cudaMallocAsync) print no reserve; beyond the whole device no reserve can help.
      WHEN request_bytes IS NOT NULL AND -bound_bytes > allocated_precision_bytes + coalesce(total_precision_bytes, 0)
        THEN 'device_exceeded'
      WHEN request_bytes IS NOT NULL AND bound_bytes < nearly_full_share * total_bytes THEN 'hardly_any_left'
      WHEN short_bytes IS NULL OR request_bytes IS NULL THEN 'figures_missing'
      WHEN step_outcome = 'beyond' AND short_bytes <= greatest(precision_bytes, slack_bytes) THEN 'whole_step'
      WHEN refusal = 'limit' THEN 'fraction'
      WHEN refusal = 'hidden' THEN 'hidden_limit'
      WHEN refusal = 'unknown' THEN 'refused_though_free'
      -- No arrangement of a device that full lasts; a whole step that fits is better evidence.
      WHEN is_nearly_full AND step_outcome IS DISTINCT FROM 'fits' AND short_bytes <= greatest(precision_bytes, slack_bytes)
        THEN CASE WHEN short_bytes + private_free_bytes > precision_bytes THEN 'full_but_for_pools' ELSE 'nearly_full' END
      WHEN short_bytes <= -precision_bytes THEN 'fits'
      WHEN short_bytes <= precision_bytes THEN 'within_rounding'
      WHEN short_bytes <= slack_bytes THEN 'fits_without_slack'
      WHEN slack_may_decide THEN 'slack_unknown'
      ELSE detail_reason END AS reason
  FROM detailed),
tested AS (
  SELECT * EXCLUDE (numbers), []::VARCHAR[] AS doubts,
    CASE WHEN reason = 'beyond_device' THEN 'high'
      WHEN reason IN ('device_exceeded', 'hardly_any_left', 'hidden_limit')
        OR precision_bytes > 0 AND precision_bytes >= short_bytes THEN 'medium'
      ELSE 'high' END AS confidence,
    CASE reason
      WHEN 'figures_missing' THEN MAP {}::MAP(VARCHAR, DOUBLE)
      WHEN 'beyond_device' THEN MAP {'request_bytes': least_request_bytes::DOUBLE, 'total_bytes': total_bytes::DOUBLE}
      WHEN 'device_exceeded' THEN map_concat(MAP {'live_bytes': live_bytes::DOUBLE, 'request_bytes': least_request_bytes::DOUBLE,
        'total_bytes': coalesce(total_bytes, bound_bytes + live_bytes + least_request_bytes)::DOUBLE,
        'short_bytes': (-bound_bytes)::DOUBLE},
        CASE WHEN request_bytes > least_request_bytes THEN MAP {'printed_request_bytes': request_bytes::DOUBLE} END)
      WHEN 'hardly_any_left' THEN MAP {'live_bytes': live_bytes::DOUBLE, 'request_bytes': least_request_bytes::DOUBLE,
        'limit_bytes': (bound_bytes + live_bytes + least_request_bytes)::DOUBLE, 'spare_bytes': greatest(0, bound_bytes)::DOUBLE}
      WHEN 'whole_step' THEN MAP {'live_bytes': live_bytes::DOUBLE, 'request_bytes': least_request_bytes::DOUBLE,
        'limit_bytes': limit_bytes::DOUBLE, 'projected_bytes': projected_bytes::DOUBLE,
        'short_bytes': (projected_bytes - limit_bytes)::DOUBLE}
      WHEN 'hidden_limit'
        THEN map_concat(numbers, MAP {'device_free_bytes': device_free_bytes::DOUBLE, 'segment_bytes': segment_request_bytes::DOUBLE,
        'left_bytes': (device_free_bytes - least_request_bytes)::DOUBLE})
      WHEN 'full_but_for_pools' THEN map_concat(numbers, MAP {'idle_in_pools_bytes': private_free_bytes::DOUBLE})
      WHEN 'fits_without_slack' THEN map_concat(numbers, MAP {'oversize_slack_bytes': slack_bytes::DOUBLE})
      WHEN 'refused_though_free' THEN MAP {'device_free_bytes': device_free_bytes::DOUBLE, 'segment_bytes': segment_request_bytes::DOUBLE}
      WHEN 'fraction' THEN map_concat(numbers, MAP {'allowed_bytes': allowed_bytes::DOUBLE, 'device_free_bytes': device_free_bytes::DOUBLE,
        'left_bytes': (device_free_bytes - least_request_bytes)::DOUBLE})
      WHEN 'rounding' THEN map_concat(numbers, MAP {'rounding_waste_bytes': rounding_waste_bytes::DOUBLE})
      WHEN 'checkpoint'
        THEN map_concat(numbers, MAP {'spike_bytes': spike_bytes::DOUBLE, 'copied_bytes': coalesce(copied_bytes, 0)::DOUBLE},
          CASE WHEN activity_bytes > 0 AND copied_bytes >= copied_share * activity_bytes
            THEN MAP {'second_copies_bytes': copied_bytes::DOUBLE} END)
      WHEN 'logits' THEN map_concat(numbers, MAP {
        'spike_bytes': CASE WHEN trace_activity IS NULL THEN least_request_bytes ELSE spike_bytes END::DOUBLE,
        'highest_before_bytes': before_bytes::DOUBLE})
      WHEN 'one_tensor' THEN map_concat(numbers, MAP {'spike_bytes': least_request_bytes::DOUBLE})
      WHEN 'stage' THEN map_concat(numbers, MAP {'own_stage_bytes': own_stage_bytes::DOUBLE, 'next_stage_bytes': next_stage_bytes::DOUBLE,
        'failing_stage': stage::DOUBLE, 'stages': stages::DOUBLE})
      ELSE numbers END AS numbers
  FROM reasoned)
SELECT run_id, failure, reason, confidence, doubts, numbers
FROM tested

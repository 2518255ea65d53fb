-- @name   library.cause_external_pressure
-- @kind   view
-- @title  Whether other memory fills the device: another process, NCCL, the CUDA context
-- @col    run_id     INTEGER
-- @col    failure    INTEGER   within the run
-- @col    reason     VARCHAR   a row of cause_reason
-- @col    confidence VARCHAR   of an outcome that holds, by its own figures
-- @col    doubts     VARCHAR[] evidence against the outcome
-- @col    numbers    MAP(VARCHAR, DOUBLE)  what it was decided by; names end in their unit
-- @why    It holds where another process, or what this one holds beyond the normal range, would have served the request alone. Of this
--         process the owner is what a profile of the driver names, else NCCL where its settings or failures are seen. A process that no
--         log names may be the job's own engine where it trains and generates on the same devices. Memory without a known owner may as well
--         be the context and libraries of this process: it is named, and no cause that is sure.
WITH served AS (
  SELECT run_id, failure, max(left_bytes) FILTER (part = 'outside_pytorch' AND serves) AS own_left_bytes,
    max(left_bytes) FILTER (part = 'other_processes' AND serves) AS others_left_bytes,
    max(left_bytes) FILTER (part = 'sibling_processes' AND serves) AS siblings_left_bytes
  FROM oom_part GROUP BY run_id, failure),
joined AS (
  SELECT sum.*, fact.* EXCLUDE (run_id, failure, rank, device, cached_precision_bytes), served.* EXCLUDE (run_id, failure),
    coalesce(sum.live_bytes, fact.process_bytes) AS held_bytes,
    greatest(served.own_left_bytes, served.others_left_bytes, served.siblings_left_bytes) AS left_bytes,
    sum.short_bytes > 0 OR sum.is_nearly_full AS is_full,
    -- While weights are made or read, as many as there are may be to come: less than that serves this request alone.
    coalesce(is_full AND left_bytes < held_bytes
      AND coalesce(fact.trace_activity, fact.run_activity) IN ('model_construction', 'weight_loading'), false) AS more_weights,
    -- Of this process the message has the allocator's figures only, or a pid of another namespace that may be its own.
    fact.process_bytes IS NULL OR coalesce(owner.is_inferred, false) AS is_unnamed,
    fact.run_id IN (SELECT run_id FROM engine_sign) AND 2 * coalesce(named.bytes, 0) < sum.foreign_bytes AS may_be_engine
  FROM oom_sum AS sum
  JOIN oom_fact AS fact ON fact.run_id = sum.run_id AND fact.failure = sum.failure
  LEFT JOIN served ON served.run_id = sum.run_id AND served.failure = sum.failure
  LEFT JOIN (SELECT incident_id, sum(bytes) AS bytes FROM job_process GROUP BY incident_id) AS named
    ON named.incident_id = fact.incident_id
  LEFT JOIN (SELECT incident_id, NOT bool_or(field = 'process') AS is_inferred FROM incident_value GROUP BY incident_id) AS owner
    ON owner.incident_id = fact.incident_id),
reasoned AS (
  SELECT *, outside_bytes - foreign_bytes AS own_bytes,
    CASE
      WHEN total_bytes IS NULL THEN 'total_unknown'
      WHEN outside_bytes IS NULL THEN 'process_unknown'
      WHEN held_bytes IS NULL THEN 'allocated_unknown'
      WHEN refusal IS NOT NULL THEN 'device_had_more'
      WHEN foreign_bytes <= outside_precision_bytes AND outside_bytes <= normal_outside_bytes AND left_bytes IS NULL
        THEN CASE WHEN live_bytes IS NULL THEN 'allocated_unknown'
        ELSE 'ordinary' END
      WHEN left_bytes IS NULL THEN 'full_in_any_case'
      -- On a device that is full without it, only what would serve one more such request is the cause. Contexts and libraries are
      -- small against the weights that may follow.
      WHEN is_full AND (left_bytes < least_request_bytes OR more_weights AND others_left_bytes IS DISTINCT FROM left_bytes)
        THEN 'full_in_any_case'
      WHEN is_unnamed AND other_processes_bytes = 0 AND monitored_others_bytes IS NULL AND driver_outside_bytes IS NULL
        AND nccl_signs = 0 THEN 'owner_unknown'
      WHEN others_left_bytes = left_bytes THEN 'other_processes'
      WHEN siblings_left_bytes = left_bytes THEN 'sibling_processes'
      WHEN 2 * driver_outside_bytes >= outside_bytes - foreign_bytes
        THEN CASE WHEN 2 * driver_nccl_bytes >= driver_outside_bytes THEN 'profiled_nccl' ELSE 'profiled' END
      WHEN nccl_signs > 0 THEN 'nccl_signs'
      ELSE 'outside_pytorch' END AS reason
  FROM joined),
tested AS (
  SELECT * EXCLUDE (numbers),
    CASE WHEN reason = 'other_processes' THEN list_concat(CASE WHEN may_be_engine THEN ['own_engine'] ELSE [] END,
      CASE WHEN more_weights THEN ['weights_follow'] ELSE [] END) ELSE [] END::VARCHAR[] AS doubts,
    CASE WHEN reason IN ('other_processes', 'sibling_processes', 'profiled_nccl', 'profiled') THEN 'high'
      WHEN reason = 'owner_unknown' THEN 'low' ELSE 'medium' END AS confidence,
    CASE WHEN reason IN ('total_unknown', 'process_unknown', 'allocated_unknown') THEN MAP {}::MAP(VARCHAR, DOUBLE)
      ELSE map_concat(MAP {'outside_bytes': outside_bytes::DOUBLE, 'normal_outside_bytes': normal_outside_bytes::DOUBLE,
        'total_bytes': total_bytes::DOUBLE,
        'live_bytes': held_bytes::DOUBLE, 'request_bytes': least_request_bytes::DOUBLE, 'foreign_bytes': foreign_bytes::DOUBLE},
        CASE WHEN left_bytes IS NOT NULL THEN MAP {'left_bytes': left_bytes::DOUBLE} END,
        CASE WHEN driver_grown_bytes > 0 THEN MAP {'grown_bytes': driver_grown_bytes::DOUBLE} END,
        CASE WHEN sibling_bytes > 0 THEN MAP {'sibling_bytes': sibling_bytes::DOUBLE, 'sibling_processes': sibling_processes::DOUBLE} END)
      END AS numbers
  FROM reasoned)
SELECT run_id, failure, reason, confidence, doubts, numbers
FROM tested

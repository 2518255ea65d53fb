-- @name   library.cause_leak
-- @kind   view
-- @title  Whether memory that grows from iteration to iteration filled the device: without the growth the request would have fitted
-- @col    run_id     INTEGER
-- @col    failure    INTEGER   within the run
-- @col    reason     VARCHAR   a row of cause_reason
-- @col    confidence VARCHAR   of an outcome that holds, by its own figures
-- @col    doubts     VARCHAR[] evidence against the outcome
-- @col    numbers    MAP(VARCHAR, DOUBLE)  what it was decided by; names end in their unit
-- @why    Two sources: memory lines of the log, and the snapshot, where blocks of one call site remain from step after step. Not leaks,
--         though similar: a warm-up that levels off, peaks that vary with the data, parameters and optimizer states (allocated in one
--         burst), reserved memory that grows while allocated memory does not. The snapshot has every block: where it contradicts a trend of
--         printed lines, it is right, and the contradiction is a doubt. By default Megatron prints memory after the first two iterations
--         only: what is left after a step should not grow between them, and if the same growth fills the device in just the iteration that
--         failed, it is not a coincidence.
WITH kept AS (
  SELECT run_id, failure, sum(bytes)::BIGINT AS kept_bytes, sum(bytes_per_step)::BIGINT AS kept_per_step_bytes
  FROM oom_keeping_site GROUP BY run_id, failure),
risen AS (
  SELECT *, end_bytes - lag(end_bytes) OVER (PARTITION BY run_id, failure ORDER BY step) AS rise_bytes FROM oom_step WHERE is_settled),
passed AS (
  SELECT run_id, failure, list(end_bytes ORDER BY step) AS ends, min(rise_bytes) > 0 AS is_rising FROM risen GROUP BY run_id, failure),
counted AS (SELECT run_id, failure, count(*) AS steps FROM oom_step GROUP BY run_id, failure),
joined AS (
  SELECT sum.*, fact.* EXCLUDE (run_id, failure, rank, device), threshold.*, coalesce(kept.kept_bytes, 0) AS kept_bytes,
    coalesce(kept.kept_per_step_bytes, 0) AS kept_per_step_bytes, coalesce(len(passed.ends), 0) AS settled_steps,
    coalesce(counted.steps, 0) AS passed_steps, passed.is_rising, passed.ends[-1] AS last_end_bytes,
    passed.ends[-1] - passed.ends[1] AS ends_grown_bytes, passed.ends[-1] - passed.ends[len(passed.ends) // 2 + 1] AS ends_late_bytes,
    fact.growth_last_bytes - fact.growth_first_bytes AS grown_bytes,
    CASE WHEN fact.growth_samples >= threshold.fewest_samples AND fact.reserved_growth_samples >= threshold.fewest_samples
        AND fact.reserved_growth_r2 >= threshold.least_r2
        AND fact.reserved_growth_bytes > greatest(threshold.noise_bytes, fact.reserved_growth_last_bytes * threshold.noise_share)
        AND (fact.growth_r2 < threshold.least_r2 OR fact.growth_last_bytes - fact.growth_first_bytes
          <= greatest(threshold.noise_bytes, fact.reserved_growth_last_bytes * threshold.noise_share))
      THEN MAP {'reserved_only_growth_bytes': fact.reserved_growth_bytes::DOUBLE} END AS reserved_only,
    fact.early_last_iteration + 1 - fact.early_second_iteration AS failing_after,
    ceil((sum.limit_bytes - fact.early_peak_bytes) / fact.early_bytes_per_iteration) AS full_after
  FROM oom_sum AS sum
  JOIN oom_fact AS fact ON fact.run_id = sum.run_id AND fact.failure = sum.failure
  LEFT JOIN kept ON kept.run_id = sum.run_id AND kept.failure = sum.failure
  LEFT JOIN passed ON passed.run_id = sum.run_id AND passed.failure = sum.failure
  LEFT JOIN counted ON counted.run_id = sum.run_id AND counted.failure = sum.failure
  CROSS JOIN cause_threshold AS threshold),
-- By the trace alone, then by printed lines alone; NULL: too little to decide.
seen AS (
  SELECT *,
    CASE
      WHEN short_bytes IS NULL OR NOT has_trace THEN NULL
      WHEN repeated_bytes < short_bytes THEN 'no_repeated_site'
      WHEN NOT has_steps THEN NULL
      WHEN kept_bytes >= short_bytes AND kept_bytes >= least_kept_share * limit_bytes THEN 'kept_of_steps'
      WHEN settled_steps > sure_steps AND is_rising AND ends_grown_bytes > greatest(noise_bytes, last_end_bytes * noise_share)
        AND ends_late_bytes >= least_late_share * ends_grown_bytes AND ends_grown_bytes >= short_bytes
        AND ends_grown_bytes >= least_kept_share * limit_bytes THEN 'step_ends_rise'
      WHEN settled_steps < fewest_keeping_steps AND trace_is_whole AND passed_steps <= 1 THEN 'no_earlier_step'
      WHEN settled_steps < fewest_keeping_steps THEN NULL
      WHEN kept_bytes > 0 THEN 'kept_too_little'
      ELSE 'none_kept' END AS trace_reason,
    CASE
      WHEN growth_samples IS NULL OR growth_samples < fewest_samples THEN NULL
      WHEN grown_bytes <= greatest(noise_bytes, growth_last_bytes * noise_share) OR growth_r2 < least_r2 THEN 'lines_not_steady'
      WHEN growth_late_bytes < least_late_share * grown_bytes THEN 'lines_level_off'
      WHEN short_bytes > grown_bytes THEN 'lines_grow_too_little'
      WHEN limit_bytes IS NULL AND request_bytes IS NULL THEN 'message_missing'
      ELSE 'lines_grow' END AS log_reason
  FROM joined),
reasoned AS (
  SELECT *,
    CASE
      WHEN short_bytes <= 0 THEN 'fits'
      WHEN trace_reason IS NOT NULL THEN trace_reason
      WHEN log_reason IS NOT NULL THEN log_reason
      WHEN short_bytes IS NOT NULL AND early_bytes_per_iteration > greatest(noise_bytes, noise_share * early_peak_bytes)
        AND failing_after >= fewest_foretold_steps AND abs(failing_after - full_after) <= foretold_within_steps THEN 'foretold'
      WHEN completed_steps <= 1 THEN 'too_early'
      WHEN short_bytes IS NULL AND request_bytes IS NULL THEN 'message_missing'
      ELSE 'lines_missing' END AS reason
  FROM seen),
tested AS (
  SELECT * EXCLUDE (numbers),
    CASE WHEN trace_reason IN ('kept_of_steps', 'step_ends_rise')
      THEN CASE WHEN log_reason = 'lines_grow' OR trace_reason = 'kept_of_steps' AND settled_steps >= sure_steps THEN 'high'
        ELSE 'medium' END
      WHEN reason = 'lines_grow' AND short_bytes IS NOT NULL AND growth_samples >= sure_samples AND growth_r2 >= sure_r2 THEN 'high'
      ELSE 'medium' END AS confidence,
    CASE WHEN reason IN ('no_repeated_site', 'no_earlier_step', 'kept_too_little', 'none_kept') AND log_reason = 'lines_grow'
      THEN ['lines_grow'] ELSE [] END::VARCHAR[] AS doubts,
    CASE
      WHEN reason = 'fits' THEN map_concat(numbers, reserved_only)
      WHEN reason = 'no_repeated_site'
        THEN map_concat(numbers, MAP {'repeated_bytes': repeated_bytes::DOUBLE},
          CASE WHEN log_reason = 'lines_grow' THEN MAP {'grown_in_lines_bytes': grown_bytes::DOUBLE} END)
      WHEN reason = trace_reason
        THEN map_concat(numbers, MAP {'kept_bytes': kept_bytes::DOUBLE, 'whole_steps': settled_steps::DOUBLE},
          CASE reason WHEN 'kept_of_steps' THEN MAP {'kept_bytes_per_step': kept_per_step_bytes::DOUBLE}
            WHEN 'step_ends_rise' THEN MAP {'grown_bytes': ends_grown_bytes::DOUBLE} END,
          CASE WHEN log_reason = 'lines_grow' THEN MAP {'grown_in_lines_bytes': grown_bytes::DOUBLE} END)
      WHEN reason = log_reason
        THEN map_concat(numbers, MAP {'grown_bytes': grown_bytes::DOUBLE, 'samples': growth_samples::DOUBLE, 'r2': growth_r2},
          CASE reason WHEN 'lines_level_off' THEN MAP {'late_bytes': growth_late_bytes::DOUBLE} WHEN 'lines_not_steady'
            THEN reserved_only END)
      WHEN reason = 'foretold' THEN map_concat(numbers, MAP {'grown_bytes_per_step': early_bytes_per_iteration,
        'failing_after_steps': failing_after::DOUBLE, 'full_after_steps': full_after::DOUBLE})
      WHEN reason = 'too_early' THEN MAP {'completed_steps': completed_steps::DOUBLE}
      ELSE MAP {}::MAP(VARCHAR, DOUBLE) END AS numbers
  FROM reasoned)
SELECT run_id, failure, reason, confidence, doubts, numbers
FROM tested

-- @name   library.cause_external_pressure
-- @kind   view
-- @title  Whether other memory fills the device: another process, NCCL, the CUDA context
-- @col    run_id     INTEGER
-- @col    failure    INTEGER   within the run
-- @col    outcome    VARCHAR   holds, fails or not_testable
-- @col    reason     VARCHAR
-- @col    detail     VARCHAR?
-- @col    confidence VARCHAR?  of an outcome that holds, by its own figures
-- @col    capture    VARCHAR?  what to record, where it could not be tested
-- @col    doubts     VARCHAR[] evidence against the outcome
-- @col    numbers    MAP(VARCHAR, DOUBLE)  what it was decided by; names end in their unit
-- @why    Tested first: the rest of such a device looks full or fragmented. The owner is another process where that holds half of it; else
--         what a profile of the driver names, else NCCL where its settings or failures are seen.
WITH joined AS (
  SELECT sum.*, fact.* EXCLUDE (run_id, failure, rank, device), greatest(threshold.ordinary_outside_bytes,
    fact.total_bytes * threshold.ordinary_outside_share) AS ordinary_bytes,
    fact.total_bytes * threshold.clearly_free_share AS margin_bytes,
    coalesce(sum.live_bytes, fact.process_bytes) AS held_bytes,
    greatest(fact.other_processes_bytes, coalesce(fact.total_bytes - fact.device_free_bytes - fact.process_bytes, 0),
      least(coalesce(fact.monitored_others_bytes, 0), sum.outside_bytes)) AS foreign_bytes
  FROM oom_sum AS sum
  JOIN oom_fact AS fact ON fact.run_id = sum.run_id AND fact.failure = sum.failure
  CROSS JOIN cause_threshold AS threshold),
reasoned AS (
  SELECT *, outside_bytes - foreign_bytes AS own_bytes,
    CASE
      WHEN total_bytes IS NULL THEN 'total_unknown'
      WHEN outside_bytes IS NULL THEN 'process_unknown'
      WHEN held_bytes IS NULL THEN 'allocated_unknown'
      -- Without what PyTorch holds of the process, this is only what others hold.
      WHEN outside_bytes <= ordinary_bytes AND live_bytes IS NULL THEN 'allocated_unknown'
      WHEN outside_bytes <= ordinary_bytes THEN 'ordinary'
      WHEN held_bytes + least_request_bytes > total_bytes - ordinary_bytes - margin_bytes THEN 'full_in_any_case'
      WHEN process_bytes IS NULL AND other_processes_bytes = 0 AND monitored_others_bytes IS NULL THEN 'owner_unknown'
      WHEN foreign_bytes * 2 >= outside_bytes THEN 'other_processes'
      WHEN 2 * driver_outside_bytes >= outside_bytes - foreign_bytes
        THEN CASE WHEN 2 * driver_nccl_bytes >= driver_outside_bytes THEN 'profiled_nccl' ELSE 'profiled' END
      WHEN nccl_signs > 0 THEN 'nccl_signs'
      ELSE 'outside_pytorch' END AS reason
  FROM joined),
answer AS (
  FROM (VALUES
    ('total_unknown', 'not_testable', NULL, 'device_total'),
    ('process_unknown', 'not_testable', NULL, 'whole_oom_message'),
    ('allocated_unknown', 'not_testable', NULL, 'whole_oom_message'),
    ('ordinary', 'fails', NULL, NULL),
    ('full_in_any_case', 'fails', NULL, NULL),
    ('owner_unknown', 'holds', NULL, NULL),
    ('other_processes', 'holds', 'other_process', NULL),
    ('profiled_nccl', 'holds', 'nccl', NULL),
    ('profiled', 'holds', 'non_torch', NULL),
    ('nccl_signs', 'holds', 'nccl', NULL),
    ('outside_pytorch', 'holds', 'non_torch', NULL))
    AS answer(reason, outcome, detail, capture)),
tested AS (
  SELECT * EXCLUDE (numbers), []::VARCHAR[] AS doubts,
    CASE WHEN reason IN ('other_processes', 'profiled_nccl', 'profiled') THEN 'high' ELSE 'medium' END AS confidence,
    CASE WHEN reason IN ('total_unknown', 'process_unknown', 'allocated_unknown') THEN MAP {}::MAP(VARCHAR, DOUBLE)
      ELSE MAP {'outside_bytes': outside_bytes::DOUBLE, 'ordinary_outside_bytes': ordinary_bytes::DOUBLE,
        'total_bytes': total_bytes::DOUBLE,
        'live_bytes': held_bytes::DOUBLE, 'request_bytes': least_request_bytes::DOUBLE, 'foreign_bytes': foreign_bytes::DOUBLE} END
          AS numbers
  FROM reasoned)
SELECT tested.run_id, tested.failure, answer.outcome, tested.reason, answer.detail,
  CASE WHEN answer.outcome = 'holds' THEN tested.confidence END AS confidence, answer.capture, tested.doubts, tested.numbers
FROM tested JOIN answer ON answer.reason = tested.reason

-- @name   library.cause_synchronisation
-- @kind   view
-- @title  Whether the memory had been freed, and another stream had not finished with it
-- @col    run_id     INTEGER
-- @col    failure    INTEGER   within the run
-- @col    outcome    VARCHAR   holds, fails or not_testable
-- @col    reason     VARCHAR
-- @col    detail     VARCHAR?
-- @col    confidence VARCHAR?  of an outcome that holds, by its own figures
-- @col    capture    VARCHAR?  what to record, where it could not be tested
-- @col    doubts     VARCHAR[] evidence against the outcome
-- @col    numbers    MAP(VARCHAR, DOUBLE)  what it was decided by; names end in their unit
-- @why    Before an OOM, torch waits for all pending frees, so none is left at the OOM, and does not search again what that wait freed
--         (pytorch issue 189504): a block that fits, in the request's own pool and stream, cannot have been free before.
WITH reasoned AS (
  SELECT sum.*, fact.pending_bytes, fact.least_request_bytes, fact.walk_is_exact, coalesce(fact.freed_by_wait_bytes, 0) AS waited_bytes,
    coalesce(fact.largest_usable_bytes, 0) AS largest_bytes,
    CASE
      WHEN fact.pending_bytes IS NULL OR sum.short_bytes IS NULL THEN 'not_in_messages'
      WHEN fact.pending_bytes > 0 AND (sum.short_bytes <= 0 OR sum.short_bytes > fact.pending_bytes) THEN 'does_not_decide'
      WHEN fact.pending_bytes > 0 THEN 'pending'
      WHEN fact.largest_usable_bytes >= fact.least_request_bytes AND fact.freed_by_wait_bytes > 0 AND fact.max_split_bytes IS NULL
        THEN 'freed_by_wait'
      ELSE 'nothing_waited' END AS reason
  FROM oom_sum AS sum
  JOIN oom_fact AS fact ON fact.run_id = sum.run_id AND fact.failure = sum.failure),
answer AS (
  FROM (VALUES
    ('not_in_messages', 'not_testable', NULL::VARCHAR, 'snapshot_at_oom'),
    ('does_not_decide', 'fails', NULL, NULL),
    ('pending', 'holds', NULL, NULL),
    ('freed_by_wait', 'holds', NULL, NULL),
    ('nothing_waited', 'fails', NULL, NULL))
    AS answer(reason, outcome, detail, capture)),
tested AS (
  SELECT * EXCLUDE (numbers), []::VARCHAR[] AS doubts,
    CASE WHEN reason = 'pending' OR walk_is_exact THEN 'high' ELSE 'medium' END AS confidence,
    CASE WHEN reason = 'not_in_messages' THEN MAP {}::MAP(VARCHAR, DOUBLE)
      WHEN pending_bytes > 0 THEN map_concat(numbers, MAP {'pending_bytes': pending_bytes::DOUBLE,
        'left_bytes': (pending_bytes - short_bytes)::DOUBLE})
      ELSE map_concat(numbers, MAP {'freed_by_wait_bytes': waited_bytes::DOUBLE, 'largest_usable_bytes': largest_bytes::DOUBLE,
        'left_bytes': (largest_bytes - least_request_bytes)::DOUBLE}) END
        AS numbers
  FROM reasoned)
SELECT tested.run_id, tested.failure, answer.outcome, tested.reason, answer.detail,
  CASE WHEN answer.outcome = 'holds' THEN tested.confidence END AS confidence, answer.capture, tested.doubts, tested.numbers
FROM tested JOIN answer ON answer.reason = tested.reason

-- @name   library.cause_synchronisation
-- @kind   view
-- @title  Whether the memory had been freed, and another stream had not finished with it
-- @col    run_id     INTEGER
-- @col    failure    INTEGER   within the run
-- @col    reason     VARCHAR   a row of cause_reason
-- @col    confidence VARCHAR   of an outcome that holds, by its own figures
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
SELECT run_id, failure, reason, confidence, doubts, numbers
FROM tested

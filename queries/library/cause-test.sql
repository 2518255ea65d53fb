-- @name   library.cause_test
-- @kind   table
-- @title  Every test of a cause on every failure that has figures of the caching allocator
-- @col    run        VARCHAR  name of the run
-- @col    run_id     INTEGER  the run
-- @col    failure    INTEGER   within the run
-- @col    rank       INTEGER?  global rank
-- @col    device     INTEGER?  device
-- @col    cause      VARCHAR  the cause
-- @col    place      INTEGER   order in which the causes are tried
-- @col    outcome    VARCHAR   holds, fails or not_testable
-- @col    reason     VARCHAR  a row of cause_reason
-- @col    detail     VARCHAR?  refinement of the cause
-- @col    confidence VARCHAR?  of an outcome that holds, by its own figures
-- @col    capture    VARCHAR?  what to record, where it could not be tested
-- @col    doubts     VARCHAR[] evidence against the outcome
-- @col    numbers    MAP(VARCHAR, DOUBLE)  what it was decided by; names end in their unit
-- @needs  oom_fact
-- @why    A new cause is a view, a line here, a row of cause_rule and rows of cause_reason.
WITH test AS (
  SELECT 'external_pressure' AS cause, * FROM cause_external_pressure
  UNION ALL BY NAME SELECT 'synchronisation' AS cause, * FROM cause_synchronisation
  UNION ALL BY NAME SELECT 'graph_pools' AS cause, * FROM cause_graph_pools
  UNION ALL BY NAME SELECT 'leak' AS cause, * FROM cause_leak
  UNION ALL BY NAME SELECT 'capacity' AS cause, * FROM cause_capacity
  UNION ALL BY NAME SELECT 'fragmentation' AS cause, * FROM cause_fragmentation)
SELECT
  run.name AS run, test.run_id, test.failure, fact.rank, fact.device, test.cause, rule.place, answer.outcome, test.reason, answer.detail,
  CASE WHEN answer.outcome = 'holds' THEN test.confidence END AS confidence, answer.capture, test.doubts, test.numbers
FROM test
-- A reason without a row is a mistake of ours, and must be seen.
LEFT JOIN cause_reason AS answer ON answer.cause = test.cause AND answer.reason = test.reason
JOIN oom_fact AS fact ON fact.run_id = test.run_id AND fact.failure = test.failure
JOIN run ON run.run_id = test.run_id
JOIN cause_rule AS rule ON rule.cause = test.cause
WHERE fact.snapshot_id IS NOT NULL OR fact.kind IS NULL OR fact.kind NOT IN (SELECT kind FROM kind_verdict WHERE NOT is_fallback)

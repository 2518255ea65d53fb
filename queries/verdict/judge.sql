-- @name   verdict.judge
-- @title  The rows of oom_test that are missing: every test of a cause on failures without any
-- @col    run_id     INTEGER
-- @col    failure    INTEGER
-- @col    cause      VARCHAR
-- @col    place      INTEGER
-- @col    outcome    VARCHAR
-- @col    reason     VARCHAR
-- @col    detail     VARCHAR?
-- @col    confidence VARCHAR?
-- @col    capture    VARCHAR?
-- @col    doubts     VARCHAR[]
-- @col    numbers    MAP(VARCHAR, DOUBLE)
-- @why    Six views over the facts take longer to plan than to run: the answers are stored with the facts.
SELECT run_id, failure, cause, place, outcome, reason, detail, confidence, capture, doubts, numbers
FROM cause_test
WHERE NOT EXISTS (FROM oom_test AS known WHERE known.run_id = cause_test.run_id AND known.failure = cause_test.failure)
ORDER BY run_id, failure, place

-- @name   verdict.judge
-- @title  The rows of oom_test: every test of a cause on the failures of a run
-- @param  run_id INTEGER?  NULL: all runs
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
WHERE coalesce(run_id = $run_id, true)
ORDER BY run_id, failure, place

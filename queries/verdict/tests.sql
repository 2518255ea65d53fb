-- @name   verdict.tests
-- @title  The tests of causes on the failures of a run
-- @param  run_id INTEGER?  NULL: all runs
-- @param  failures VARCHAR?  numbers of failures, joined by commas; NULL: all
-- @of     cause_test: run_id failure cause outcome reason detail confidence capture doubts
-- @col    names      VARCHAR[] of the numbers that it was decided by; they end in their unit
-- @col    amounts    DOUBLE[]  the numbers
-- @needs  cause_test
-- @why    Evidence before verdict: tests behind the one that holds still rule out their causes.
SELECT run_id, failure, cause, outcome, reason, detail, confidence, capture, doubts, map_keys(numbers) AS names, map_values(numbers)
  AS amounts
FROM cause_test
WHERE coalesce(run_id = $run_id, true) AND coalesce(list_contains(string_split($failures, ',')::INTEGER[], failure), true)
ORDER BY run_id, failure, place

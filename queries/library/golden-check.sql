-- @name   library.golden_check
-- @kind   macro
-- @title  A run against the golden values of the store: peaks of memory, components, step time, throughput, loss, status
-- @param  checked_run VARCHAR  name of a run
-- @col    golden        VARCHAR  name of the golden values
-- @col    golden_runs   BIGINT   how many runs they are of
-- @col    check_name    VARCHAR  peak_allocated, peak_active, peak_reserved, component:…, step_time, throughput, loss, status
-- @col    unit          VARCHAR
-- @col    golden_value  DOUBLE?  median of the golden runs
-- @col    current_value DOUBLE?
-- @col    change        DOUBLE?  current less golden
-- @col    relative      DOUBLE?
-- @col    tolerance     DOUBLE?  least relative change that counts
-- @col    noise         DOUBLE?  half-width of what is uncertain of the change
-- @col    is_gate       BOOLEAN  whether it decides the verdict
-- @col    status        VARCHAR  pass, improvement, regression, undecided, info or skipped
-- @col    reason        VARCHAR? what the figures are of, or why there is none; see judged_checks
-- @why    The checks of the verb compare. Golden values in the form of Megatron-LM or Megatron Bridge, stages and single ranks, the
--         settings that must agree, stragglers, components where the peak includes a refused request, and the reason of a failure are left
--         to the verb.
SELECT
  comparison AS golden, golden_runs, check_name, unit, golden_value, current_value, change, relative, tolerance, noise, is_gate, status,
  reason
FROM judged_checks((
  SELECT json_group_array(json_object('comparison', name, 'is_golden', is_golden, 'position', position, 'document', content::JSON))
  FROM (
    SELECT name, true AS is_golden, position, document AS content FROM golden_run WHERE form = 'measurement'
    UNION ALL
    SELECT DISTINCT golden_run.name, false, 0, measured.document
    FROM golden_run CROSS JOIN measured_run(checked_run) AS measured
    WHERE golden_run.form = 'measurement') AS listed), NULL, false) AS judged
WHERE current_runs > 0
ORDER BY golden, place

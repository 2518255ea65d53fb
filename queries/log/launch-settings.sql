-- @name   log.launch_settings
-- @title  Settings and variables that differ between the launches of a run
-- @param  run_id INTEGER
-- @col    key     VARCHAR
-- @col    attempt INTEGER  launch of the run
-- @col    value   VARCHAR? from the strongest origin of that launch
-- @needs  log_config log_env
-- @why    A sweep runs one program with other settings each time: what differs is the name of a trial.
WITH
  found AS (
    SELECT key, attempt, value, precedence, line FROM config_value WHERE run_id = $run_id
    UNION ALL
    SELECT key, attempt, value, precedence, line FROM env_value WHERE run_id = $run_id),
  strongest AS (
    SELECT key, attempt, first(value ORDER BY precedence, line DESC) AS value FROM found GROUP BY key, attempt)
SELECT key, attempt, value FROM strongest
QUALIFY min(coalesce(value, '')) OVER (PARTITION BY key) <> max(coalesce(value, '')) OVER (PARTITION BY key)
ORDER BY key, attempt

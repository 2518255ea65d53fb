-- @name   library.run_setting
-- @kind   view
-- @title  Settings, environment variables and printed versions of a run, each value once
-- @col    run    VARCHAR  name of the run
-- @col    run_id INTEGER  the run
-- @col    kind   VARCHAR  config, env or version
-- @col    key    VARCHAR  canonical; of a version such as version.torch, version.container or commit.deepspeed
-- @col    value  VARCHAR? of a secret only its length; NULL: unset explicitly
-- @why    What differs between two runs of one recipe is a row that only one of them has; where a value was found does not matter.
SELECT DISTINCT run.name AS run, run.run_id, setting.kind, setting.key, setting.value
FROM (
  SELECT run_id, 'config' AS kind, key, value FROM config_value
  UNION ALL
  SELECT run_id, 'env', key, value FROM env_value
  UNION ALL
  SELECT run_id, 'version', name, text FROM log_value WHERE starts_with(name, 'version.') OR starts_with(name, 'commit.')) AS setting
JOIN run ON run.run_id = setting.run_id

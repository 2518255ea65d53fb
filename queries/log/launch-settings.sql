-- @name   log.launch_settings
-- @title  Settings and variables that differ between the launches of a run
-- @param  run_id INTEGER
-- @col    key     VARCHAR
-- @col    attempt INTEGER  launch of the run
-- @col    value   VARCHAR? from the strongest origin of that launch; NULL also where a text that would have it lacks it
-- @needs  log_config log_env
-- @why    A sweep runs one program with other settings each time: what differs is the name of a trial. A launch that printed no command
--         line may have had any flag; one whose command line was read, and lacks a flag of the others, ran without it. A line that
--         reports one setting shows nothing about others.
WITH
  found AS (
    SELECT key, attempt, value, precedence, line, CASE origin WHEN 'log banner' THEN NULL WHEN 'command line' THEN 'command'
      ELSE origin || format END AS text_kind
    FROM config_value WHERE run_id = $run_id
    UNION ALL
    -- Variables that a command is given are of one text with its flags.
    SELECT key, attempt, value, precedence, line, CASE origin WHEN 'script' THEN 'command' ELSE origin || format END
    FROM env_value WHERE run_id = $run_id),
  strongest AS (
    SELECT key, attempt, first(value ORDER BY precedence, line DESC) AS value, first(text_kind ORDER BY precedence, line DESC) AS text_kind
    FROM found GROUP BY key, attempt),
  printed AS (SELECT DISTINCT attempt, text_kind FROM found),
  every AS (
    SELECT key, attempt, value FROM strongest
    UNION ALL
    SELECT DISTINCT strongest.key, printed.attempt, NULL
    FROM strongest JOIN printed USING (text_kind)
    WHERE NOT EXISTS (FROM strongest AS own WHERE own.key = strongest.key AND own.attempt = printed.attempt))
SELECT key, attempt, value FROM every
QUALIFY min(coalesce(value, '')) OVER (PARTITION BY key) <> max(coalesce(value, '')) OVER (PARTITION BY key)
ORDER BY key, attempt

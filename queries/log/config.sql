-- @name   log.config
-- @title  Settings as found, one row for each source, origin, spelling and value
-- @param  run_id INTEGER
-- @of     config_value: key raw_key value origin precedence attempt line
-- @col    display_path VARCHAR
-- @col    lines        BIGINT
-- @needs  log_config
-- @why    A log in which every rank prints its arguments contains each a thousand times. Equal rows are folded; the strongest is chosen
--         outside SQL, with reasons. Of a file with several launches, only the newest that printed settings counts: a setting of an older
--         one need not hold for it.
SELECT config.key, config.raw_key, config.value, config.origin, config.precedence, config.attempt, source.display_path,
  max(config.line) AS line, count(*) AS lines
FROM (
  SELECT * FROM config_value WHERE run_id = $run_id
  QUALIFY attempt = max(attempt) OVER (PARTITION BY source_id)) AS config
JOIN source USING (source_id)
GROUP BY config.key, config.raw_key, config.value, config.origin, config.precedence, config.attempt, source.display_path
ORDER BY config.key, config.attempt DESC, config.precedence, source.display_path DESC, max(config.line) DESC, config.raw_key, config.value

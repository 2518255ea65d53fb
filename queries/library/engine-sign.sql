-- @name   library.engine_sign
-- @kind   view
-- @title  Signs that a run trains and generates on the same devices: another process may be its own inference engine
-- @col    run_id       INTEGER
-- @col    sign         VARCHAR  a setting, an actor, a file of a trainer
-- @col    display_path VARCHAR
-- @col    line         BIGINT
-- @why    In a container the numbers in an OOM message are not those of the logs, so that no log can name such a process. Of trainers
--         that also generate, the frames count unless they are of their other trainers (SFT, DPO, reward models).
SELECT config.run_id, config.raw_key || '=' || config.value AS sign, source.display_path, config.line
FROM config_value AS config
JOIN source USING (source_id)
WHERE config.key IN ('colocated_engine', 'enable_sleep_mode') AND regexp_full_match(lower(config.value), 'true|[12]|colocate|vllm|sglang')
UNION ALL
SELECT source.run_id, words.text, source.display_path, log.line
FROM log_figure AS log
JOIN source USING (source_id)
JOIN text_value AS kind ON kind.text_id = log.name_id AND kind.text = 'process.generating_trainer'
JOIN text_value AS words ON words.text_id = log.text_id
UNION ALL
SELECT source.run_id, regexp_extract(incident.frames, '"((?:[^"]*/)?(?:verl|skyrl|skyrl_train|openrlhf|slime|nemo_rl)/[^"]*)"', 1),
  source.display_path, incident.line
FROM incident
JOIN source USING (source_id)
WHERE incident.is_oom AND regexp_matches(incident.frames, '["/](?:verl|skyrl|skyrl_train|openrlhf|slime|nemo_rl)/[^"]*"')
  AND NOT regexp_matches(incident.frames, '[/_](?:sft|dpo|rm|reward_model)[/_.]')

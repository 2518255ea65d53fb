-- @name   log.trainer
-- @title  Whether anything of a run is Megatron's: a line of its logs, a setting, or a frame of its stacks
-- @param  run_id INTEGER
-- @col    is_megatron BOOLEAN
-- @col    frames VARCHAR? of the tracebacks, as JSON
-- @col    framework VARCHAR? megatron-bridge, megatron-lm or nemo, whose configuration the run has; NULL where nothing shows it, and where
--         another trainer runs Megatron by settings of its own
-- @why    Settings of Megatron mean nothing to another trainer. Keys are compared as written: other trainers' names for a setting have the
--         same canonical key. Engines for rollouts have keys of Megatron's spelling.
WITH
  mine AS (SELECT source_id FROM source WHERE run_id = $run_id),
  format AS (
    SELECT format_id FROM log_iteration JOIN mine USING (source_id)
    UNION SELECT format_id FROM log_memory JOIN mine USING (source_id)
    UNION SELECT format_id FROM log_figure JOIN mine USING (source_id)),
  stack AS (
    SELECT trace.stack_id
    FROM (
      SELECT snapshot_id, stack_id FROM trace_entry
      UNION SELECT snapshot_id, stack_id FROM block_life
      UNION SELECT snapshot_id, free_stack_id FROM block_life
      UNION SELECT snapshot_id, stack_id FROM block) AS trace
    JOIN snapshot USING (snapshot_id)
    WHERE snapshot.run_id = $run_id),
  sign AS (
    SELECT regexp_matches(text, '^(launch\.)?megatron|^(launch\.)?nemo[.-]config|^nemo\.') AS megatron
    FROM format JOIN text_value ON text_value.text_id = format.format_id
    UNION ALL
    SELECT regexp_matches(coalesce(value, ''), '^(megatron|nemo)\.')
      OR (NOT contains(raw_key, 'rollout') AND regexp_matches(replace(raw_key, '-', '_'),
        '(tensor|pipeline)_model_parallel_size$|(^|[._])(use_distributed_optimizer|recompute_granularity)$'))
    FROM config_value WHERE run_id = $run_id
    UNION ALL
    SELECT regexp_matches(file, '(^|[/_.-])megatron([/_.-]|$)', 'i')
    FROM (
      SELECT frame_file AS file FROM incident JOIN mine USING (source_id)
      UNION ALL SELECT filename FROM frame WHERE frame_id IN (SELECT frame_id FROM stack_frame JOIN stack USING (stack_id)))),
  traceback AS (
    SELECT string_agg(DISTINCT coalesce(frames, frame_file), chr(10)) AS frames FROM incident JOIN mine USING (source_id)),
  own AS (SELECT coalesce(bool_or(megatron), false) AS is_megatron FROM sign)
SELECT is_megatron, frames,
  CASE WHEN regexp_matches(frames, '(^|[/"])(verl|nemo_rl|skyrl|areal|roll)/') THEN NULL
    WHEN regexp_matches(frames, '(^|[/"])megatron/bridge/') THEN 'megatron-bridge'
    WHEN regexp_matches(frames, '(^|[/"])nemo/(collections|lightning|core)/') THEN 'nemo'
    WHEN regexp_matches(frames, '(^|[/"])(pretrain_[a-z0-9_]+\.py|megatron/training/)') THEN 'megatron-lm'
    -- Printed by validate_args, which the others do not call.
    WHEN EXISTS (FROM config_value WHERE run_id = $run_id AND format = 'megatron-lm.layout') THEN 'megatron-lm' END AS framework
FROM own CROSS JOIN traceback LIMIT 1

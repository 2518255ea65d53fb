-- @name   log.memory_count
-- @title  How many figures the memory lines of a run hold, of all its launches
-- @param  run_id INTEGER
-- @col    figures BIGINT
-- @why    log.memory_records is cut for display. Doubtful readings are listed on their own.
SELECT count(*) AS figures FROM log_memory AS log JOIN source USING (source_id)
WHERE source.run_id = $run_id
  AND log.metric_id NOT IN (SELECT text_id FROM text_value WHERE text IS NOT NULL AND starts_with(text, 'doubtful.'))
HAVING count(*) > 0
LIMIT 1

-- @name   symptom.rank_timers
-- @title  Timers by name and rank: the median over the lines
-- @param  run_id INTEGER
-- @col    name         VARCHAR  timer.<name>.ms of one rank; .min_ms, .max_ms over all ranks
-- @col    rank         INTEGER? NULL if the line contains none
-- @col    value        DOUBLE   milliseconds
-- @col    count        BIGINT
-- @col    display_path VARCHAR  of the last one
-- @col    line         BIGINT
-- @why    log.values keeps one figure a name; how long each stage computes needs one a rank.
SELECT name.text AS name, coalesce(log.rank, source.rank) AS rank, median(log.value) AS value, count(*) AS count,
  arg_max(source.display_path, log.rowid) AS display_path, arg_max(log.line, log.rowid)::BIGINT AS line
FROM log_figure AS log JOIN source USING (source_id) JOIN text_value AS name ON name.text_id = log.name_id
WHERE source.run_id = $run_id AND log.value IS NOT NULL AND starts_with(name.text, 'timer.')
GROUP BY ALL ORDER BY name, rank NULLS FIRST

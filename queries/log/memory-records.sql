-- @name   log.memory_records
-- @title  Figures of memory lines in the order of files and lines
-- @param  run_id INTEGER
-- @param  rank   INTEGER?  only of this rank
-- @param  most   BIGINT?   only so many
-- @of     log_memory: rank device iteration bytes value attempt line
-- @col    metric       VARCHAR
-- @col    unit         VARCHAR  as printed
-- @col    moment       VARCHAR?
-- @col    file         VARCHAR
-- @why    Texts are joined after the cut: a log of 1,024 ranks has a million figures, of which a reader sees a few.
WITH chosen AS (
  SELECT coalesce(log.rank, source.rank) AS rank, log.device, log.iteration, log.metric_id, log.bytes, log.value, log.unit_id,
    log.moment_id, source.attempt + log.attempt - 1 AS attempt, source.display_path, log.line, log.rowid AS place
  FROM log_memory AS log JOIN source USING (source_id)
  WHERE source.run_id = $run_id AND ($rank IS NULL OR coalesce(log.rank, source.rank) = $rank)
  ORDER BY source.display_path, log.line, place
  LIMIT $most)
SELECT chosen.rank, chosen.device, chosen.iteration, metric.text AS metric, chosen.bytes, chosen.value, unit.text AS unit,
  moment.text AS moment, chosen.attempt, chosen.display_path AS file, chosen.line
FROM chosen
JOIN text_value AS metric ON metric.text_id = chosen.metric_id
JOIN text_value AS unit ON unit.text_id = chosen.unit_id
LEFT JOIN text_value AS moment ON moment.text_id = chosen.moment_id
ORDER BY chosen.display_path, chosen.line, chosen.place

-- @name   log.doubtful_memory
-- @title  Memory readings that cannot be true, by rank, metric and reason
-- @param  run_id INTEGER
-- @col    attempt      INTEGER
-- @col    rank         INTEGER?
-- @col    metric       VARCHAR  without the mark
-- @col    reason       VARCHAR
-- @col    value        DOUBLE   of the first one, as printed
-- @col    unit         VARCHAR
-- @col    samples      BIGINT
-- @col    file         VARCHAR
-- @col    line         INTEGER
-- @why    Such a reading is stored under a name of its own, so that no statistic includes it.
WITH doubtful AS (
  SELECT source.attempt + log.attempt - 1 AS attempt, coalesce(log.rank, source.rank) AS rank, log.metric_id, log.moment_id,
    min_by(struct_pack(value := log.value, unit_id := log.unit_id, file := source.display_path, line := log.line), log.rowid) AS head,
    count(*) AS samples
  FROM log_memory AS log JOIN source USING (source_id)
  WHERE source.run_id = $run_id AND log.metric_id IN (SELECT text_id FROM text_value WHERE starts_with(text, 'doubtful.'))
  GROUP BY ALL)
SELECT doubtful.attempt, doubtful.rank, replace(metric.text, 'doubtful.', '') AS metric, coalesce(moment.text, '') AS reason,
  doubtful.head.value AS value, unit.text AS unit, doubtful.samples, doubtful.head.file AS file, doubtful.head.line AS line
FROM doubtful
JOIN text_value AS metric ON metric.text_id = doubtful.metric_id
JOIN text_value AS unit ON unit.text_id = doubtful.head.unit_id
LEFT JOIN text_value AS moment ON moment.text_id = doubtful.moment_id
ORDER BY attempt, rank NULLS FIRST, metric, reason

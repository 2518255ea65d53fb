-- @name   log.values
-- @title  Figures and words by name: the last one, and how many there are
-- @param  run_id INTEGER
-- @param  prefix VARCHAR?  only names that begin so
-- @param  most   BIGINT?   only so many names
-- @param  attempt INTEGER? of logs, only this launch; other files describe the run
-- @col    name         VARCHAR
-- @col    value        DOUBLE?  NULL if it is NaN or infinity
-- @col    unit         VARCHAR?
-- @col    text         VARCHAR?
-- @col    count        BIGINT
-- @col    rank         INTEGER?
-- @col    file         VARCHAR
-- @col    line         INTEGER
-- @needs  log_figure
-- @why    Names carry the coordinates, so a name's last row is its newest fact. Fields of iteration lines are left to log.iterations.
WITH latest AS (
  SELECT log.name_id, count(*) AS count,
    max_by(struct_pack(value := log.value, unit_id := log.unit_id, text_id := log.text_id, rank := coalesce(log.rank, source.rank),
      display_path := source.display_path, line := log.line), struct_pack(a := source.attempt + log.attempt, b := log.rowid)) AS picked
  FROM log_figure AS log JOIN source USING (source_id)
  WHERE source.run_id = $run_id
    AND ($attempt IS NULL OR source.format IS DISTINCT FROM 'log' OR source.attempt + log.attempt - 1 = $attempt)
  GROUP BY log.name_id)
SELECT name.text AS name, CASE WHEN isfinite(latest.picked.value) THEN latest.picked.value END AS value, unit.text AS unit,
  words.text AS text, latest.count, latest.picked.rank AS rank, latest.picked.display_path AS file, latest.picked.line AS line
FROM latest
JOIN text_value AS name ON name.text_id = latest.name_id
LEFT JOIN text_value AS unit ON unit.text_id = latest.picked.unit_id
LEFT JOIN text_value AS words ON words.text_id = latest.picked.text_id
WHERE NOT starts_with(name.text, 'iteration.') AND ($prefix IS NULL OR starts_with(name.text, $prefix))
ORDER BY name.text
LIMIT $most

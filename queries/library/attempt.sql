-- @name   library.attempt
-- @kind   view
-- @title  Every launch of a run
-- @col    run_id  INTEGER
-- @col    attempt INTEGER from 1
-- @col    origin  VARCHAR why it is taken for a launch; assumed: nothing shows it
-- @col    time_us BIGINT? earliest time of it, µs since 1970
-- @why    Restarts inside a log and files of their own are counted together.
SELECT
  run_id, attempt, coalesce(first(origin ORDER BY source_id, line) FILTER (origin IS NOT NULL), 'assumed') AS origin,
  min(time_us) AS time_us
FROM (
  SELECT run_id, source_id, source.attempt + coalesce(source_attempt.attempt, 1) - 1 AS attempt, source_attempt.origin, source_attempt.line,
    source_attempt.time_us
  FROM source LEFT JOIN source_attempt USING (source_id))
GROUP BY run_id, attempt

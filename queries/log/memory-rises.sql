-- @name   log.memory_rises
-- @title  Iterations at which a memory figure of one rank rose above all before it, the last ones
-- @param  run_id  INTEGER
-- @param  attempt INTEGER
-- @param  rank    INTEGER?
-- @param  metric  VARCHAR
-- @param  most    INTEGER
-- @col    iteration BIGINT
-- @col    rises     BIGINT  all of them
-- @col    grown_bytes BIGINT  in all
-- @why    A slope does not show whether memory grows from step to step or rose twice: the iterations do.
WITH figures AS (
  SELECT log.iteration, max(log.bytes) AS bytes
  FROM log_memory AS log
  JOIN source USING (source_id)
  JOIN text_value AS metric ON metric.text_id = log.metric_id
  WHERE source.run_id = $run_id AND source.attempt + log.attempt - 1 = $attempt AND metric.text = $metric
    AND coalesce(log.rank, source.rank) IS NOT DISTINCT FROM $rank AND log.iteration IS NOT NULL AND log.bytes IS NOT NULL
  GROUP BY log.iteration),
ordered AS (
  SELECT iteration, bytes, max(bytes) OVER (ORDER BY iteration ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM figures),
rise AS (
  SELECT iteration, count(*) OVER () AS rises, (sum(bytes - before) OVER ())::BIGINT AS grown_bytes
  FROM ordered WHERE bytes > before)
SELECT iteration, rises, grown_bytes FROM rise ORDER BY iteration DESC LIMIT $most

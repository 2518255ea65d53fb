-- @name   context.memory
-- @title  Memory of every rank as its log printed it: last and largest figure of each metric, in the newest attempt
-- @param  run_id INTEGER
-- @col    rank         INTEGER?
-- @col    metric       VARCHAR
-- @col    last_value   DOUBLE   as printed
-- @col    last_bytes   BIGINT?  NULL for counts
-- @col    max_bytes    BIGINT?
-- @col    max_value    DOUBLE
-- @col    last_iteration BIGINT?
-- @col    display_path VARCHAR  where the last figure stands
-- @col    line         INTEGER
-- @why    One OOM line says nothing of the ranks that did not fail, nor of what the failing one held before.
WITH newest AS (
  SELECT max(attempt) AS attempt FROM memory_sample WHERE run_id = $run_id
)
SELECT
  sample.rank,
  sample.metric,
  arg_max(sample.value, (sample.source_id, sample.line)) AS last_value,
  arg_max_null(sample.bytes, (sample.source_id, sample.line)) AS last_bytes,
  max(sample.bytes) AS max_bytes,
  max(sample.value) AS max_value,
  arg_max_null(sample.iteration, (sample.source_id, sample.line)) AS last_iteration,
  arg_max(source.display_path, (sample.source_id, sample.line)) AS display_path,
  arg_max(sample.line, (sample.source_id, sample.line)) AS line
FROM memory_sample AS sample
JOIN source USING (source_id)
WHERE sample.run_id = $run_id AND sample.attempt = (SELECT attempt FROM newest)
GROUP BY sample.rank, sample.metric
ORDER BY sample.rank NULLS FIRST, sample.metric

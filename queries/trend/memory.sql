-- @name   trend.memory
-- @title  The largest figure of one memory metric of all runs, each of its last launch that printed it
-- @param  metric VARCHAR
-- @col    run_id INTEGER
-- @col    bytes  BIGINT?  NULL for counts
-- @col    value  DOUBLE   as printed; counts that are printed step by step are summed up
-- @why    The rank that holds most is the one that fails. DeepSpeed prints the retries since the step before, all others those since the
--         launch.
WITH
  samples AS (
    SELECT source.run_id, source.attempt + log.attempt - 1 AS attempt, coalesce(log.rank, source.rank) AS rank, log.device, log.bytes,
      log.value, coalesce(moment.text = 'since the step before', false) AS is_part
    FROM log_memory AS log
    JOIN source USING (source_id)
    LEFT JOIN text_value AS moment ON moment.text_id = log.moment_id
    WHERE log.metric_id IN (SELECT text_id FROM text_value WHERE text = $metric)),
  launches AS (SELECT run_id, max(attempt) AS attempt FROM samples GROUP BY run_id),
  ranks AS (
    SELECT run_id, max(samples.bytes) AS bytes,
      coalesce(max(samples.value) FILTER (NOT is_part), 0) + coalesce(sum(samples.value) FILTER (is_part), 0) AS value
    FROM samples JOIN launches USING (run_id, attempt)
    GROUP BY run_id, rank, device)
SELECT run_id, max(bytes) AS bytes, max(value) AS value
FROM ranks
GROUP BY run_id
ORDER BY run_id

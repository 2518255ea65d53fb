-- @name   measure.series
-- @title  What the newest launch that has iterations printed or recorded of each, thinned
-- @param  run_id INTEGER
-- @param  most   INTEGER  of more iterations every nth is kept, with the first and the last
-- @col    iteration           BIGINT
-- @col    loss                DOUBLE?
-- @col    step_ms             DOUBLE?
-- @col    tflops              DOUBLE?  per GPU
-- @col    grad_norm           DOUBLE?
-- @col    allocated_bytes     BIGINT?
-- @col    max_allocated_bytes BIGINT?
-- @col    num_zeros           DOUBLE?
-- @why    Of each iteration its last line; a figure of NaN or infinity is NULL. Upstream's golden values are taken from event files, which
--         hold at every step what a log prints once or twice. Of memory only metrics count: a memory line of one rank is not evidence
--         about the rank that writes the metrics. The iteration lines of a log have the number of zeros, where metrics have none.
WITH
  line AS (
    SELECT iteration, loss, step_ms, tflops_per_gpu AS tflops, grad_norm
    FROM iteration_lines($run_id) AS printed
    QUALIFY attempt = max(attempt) OVER ()
      AND row_number() OVER (PARTITION BY attempt, iteration ORDER BY display_path DESC, printed.line DESC, place DESC) = 1),
  thinned AS (
    SELECT *, row_number() OVER (ORDER BY iteration) - 1 AS nth, count(*) OVER () AS lines
    FROM line
    QUALIFY nth % greatest(1, ceil(lines / $most)) = 0 OR nth = lines - 1),
  metrics AS (SELECT source_id, attempt FROM source JOIN metrics_sources USING (source_id) WHERE run_id = $run_id),
  newest AS (SELECT max(source.attempt + log.attempt - 1) AS attempt FROM log_iteration AS log JOIN source USING (source_id)
    WHERE source.run_id = $run_id),
  memory AS (
    SELECT log.source_id, log.iteration, max(log.bytes) FILTER (metric.text = 'allocated') AS allocated_bytes,
      max(log.bytes) FILTER (metric.text = 'max_allocated') AS max_allocated_bytes
    FROM log_memory AS log JOIN metrics USING (source_id) JOIN text_value AS metric ON metric.text_id = log.metric_id
    WHERE metric.text IN ('allocated', 'max_allocated') AND log.iteration IS NOT NULL AND metrics.attempt = (SELECT attempt FROM newest)
    GROUP BY log.source_id, log.iteration),
  every_zeros AS (
    SELECT log.source_id, log.iteration, max(log.value) AS num_zeros, metrics.source_id IS NOT NULL AS is_metrics
    FROM log_figure AS log
    JOIN source ON source.source_id = log.source_id AND source.run_id = $run_id
    LEFT JOIN metrics ON metrics.source_id = log.source_id
    JOIN text_value AS name ON name.text_id = log.name_id
    WHERE name.text = 'iteration.num zeros' AND log.iteration IS NOT NULL
      AND coalesce(metrics.attempt, source.attempt + log.attempt - 1) = (SELECT attempt FROM newest)
    GROUP BY log.source_id, log.iteration, is_metrics),
  zeros AS (
    SELECT * FROM every_zeros WHERE is_metrics OR (NOT EXISTS (FROM every_zeros WHERE is_metrics) AND NOT EXISTS (FROM memory))),
  steps AS (
    SELECT coalesce(memory.source_id, zeros.source_id) AS source_id, coalesce(memory.iteration, zeros.iteration) AS iteration,
      allocated_bytes, max_allocated_bytes, num_zeros
    FROM memory FULL JOIN zeros ON zeros.source_id = memory.source_id AND zeros.iteration = memory.iteration),
  recorded AS (
    FROM steps WHERE source_id = (SELECT source_id FROM steps GROUP BY source_id ORDER BY count(*) DESC, source_id LIMIT 1))
SELECT thinned.iteration, CASE WHEN isfinite(loss) THEN loss END AS loss, CASE WHEN isfinite(step_ms) THEN step_ms END AS step_ms,
  CASE WHEN isfinite(tflops) THEN tflops END AS tflops, CASE WHEN isfinite(grad_norm) THEN grad_norm END AS grad_norm, allocated_bytes,
  max_allocated_bytes, num_zeros
FROM thinned LEFT JOIN recorded ON recorded.iteration = thinned.iteration
ORDER BY thinned.iteration

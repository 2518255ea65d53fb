-- @name   context.growth
-- @title  How allocated memory moved over the iterations of the newest attempt, by rank
-- @param  run_id INTEGER
-- @col    rank            INTEGER?
-- @col    samples         BIGINT   without the first one
-- @col    first_iteration BIGINT
-- @col    last_iteration  BIGINT
-- @col    first_bytes     BIGINT
-- @col    last_bytes      BIGINT
-- @col    bytes_per_iteration DOUBLE? slope of the line through the samples
-- @col    r2              DOUBLE?  how well that line fits
-- @col    display_path    VARCHAR
-- @why    The first sample is left out: the optimizer's state comes into being with the first step, and is no leak.
WITH samples AS (
  SELECT rank, iteration, max(bytes) AS bytes, max(source_id) AS source_id,
    row_number() OVER (PARTITION BY rank ORDER BY iteration) AS n
  FROM memory_sample
  WHERE run_id = $run_id AND metric = 'allocated' AND iteration IS NOT NULL AND bytes IS NOT NULL
    AND attempt = (SELECT max(attempt) FROM memory_sample WHERE run_id = $run_id)
  GROUP BY rank, iteration
)
SELECT samples.rank, count(*) AS samples, min(iteration) AS first_iteration, max(iteration) AS last_iteration,
  arg_min(bytes, iteration) AS first_bytes, arg_max(bytes, iteration) AS last_bytes,
  regr_slope(bytes, iteration) AS bytes_per_iteration, regr_r2(bytes, iteration) AS r2, any_value(source.display_path) AS display_path
FROM samples JOIN source USING (source_id)
WHERE n > 1
GROUP BY samples.rank
ORDER BY samples.rank NULLS FIRST

-- @name   outside.host_memory
-- @title  What was sampled of host memory: limits, and the largest resident sizes
-- @param  run_id INTEGER
-- @col    metric       VARCHAR
-- @col    host         VARCHAR?
-- @col    process      VARCHAR?
-- @col    bytes        BIGINT   the largest
-- @col    display_path VARCHAR
-- @col    line         BIGINT
-- @needs  log_gauge
-- @why    A job that the kernel killed leaves no figure of its own; only Slurm, Kubernetes or W&B have recorded any. The few largest are
--         the most informative.
SELECT gauge.metric, gauge.host, gauge.process, max(gauge.bytes) AS bytes, arg_max(source.display_path, gauge.bytes) AS display_path,
  arg_max(gauge.line, gauge.bytes)::BIGINT AS line
FROM gauge JOIN source USING (source_id)
WHERE gauge.run_id = $run_id AND gauge.metric IN ('host_limit', 'host_used', 'process_rss', 'process_max_rss')
GROUP BY gauge.metric, gauge.host, gauge.process
QUALIFY row_number() OVER (PARTITION BY gauge.metric ORDER BY max(gauge.bytes) DESC) <= 2
ORDER BY gauge.metric, bytes DESC

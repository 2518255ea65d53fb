-- @name   outside.monitors
-- @title  What was sampled of each device, by the file that holds the samples
-- @param  run_id INTEGER
-- @col    source_id      INTEGER
-- @col    display_path   VARCHAR
-- @col    format         VARCHAR  what sampled
-- @col    clock          VARCHAR  printed or utc
-- @col    host           VARCHAR?
-- @col    device         INTEGER? index of the driver
-- @col    gpu            VARCHAR? UUID or bus id
-- @col    samples        BIGINT   of the memory in use
-- @col    timed          BIGINT   of them with a time
-- @col    first_us       BIGINT?
-- @col    last_us        BIGINT?
-- @col    interval_us    DOUBLE?  median distance of two samples
-- @col    total_bytes    BIGINT?
-- @col    first_bytes    BIGINT
-- @col    last_bytes     BIGINT
-- @col    min_bytes      BIGINT
-- @col    max_bytes      BIGINT  the true peak may be between two samples
-- @col    max_us         BIGINT?  when
-- @col    max_line       BIGINT   of the largest sample
-- @needs  log_gauge
-- @why    A device is known by its index, its UUID or both; samples of one file belong together by all three.
WITH
  used AS (
    SELECT *, time_us - lag(time_us) OVER (PARTITION BY source_id, host, device, gpu ORDER BY time_us, line) AS distance_us
    FROM gauge WHERE run_id = $run_id AND metric = 'device_used'),
  total AS (
    SELECT source_id, host, device, gpu, max(bytes) AS bytes FROM gauge WHERE run_id = $run_id AND metric = 'device_total' GROUP BY ALL)
SELECT used.source_id, source.display_path, any_value(used.format) AS format, any_value(used.clock) AS clock, used.host, used.device,
  used.gpu, count(*) AS samples, count(used.time_us) AS timed, min(used.time_us) AS first_us, max(used.time_us) AS last_us,
  median(distance_us) AS interval_us, any_value(total.bytes) AS total_bytes,
  arg_min(used.bytes, struct_pack(t := coalesce(used.time_us, 0), l := used.line)) AS first_bytes,
  arg_max(used.bytes, struct_pack(t := coalesce(used.time_us, 0), l := used.line)) AS last_bytes, min(used.bytes) AS min_bytes,
  max(used.bytes) AS max_bytes, arg_max(used.time_us, used.bytes) AS max_us, arg_max(used.line, used.bytes)::BIGINT AS max_line
FROM used
JOIN source USING (source_id)
LEFT JOIN total ON total.source_id = used.source_id AND total.host IS NOT DISTINCT FROM used.host
  AND total.device IS NOT DISTINCT FROM used.device AND total.gpu IS NOT DISTINCT FROM used.gpu
GROUP BY used.source_id, source.display_path, used.host, used.device, used.gpu
ORDER BY used.host NULLS FIRST, used.device NULLS FIRST, used.gpu NULLS FIRST, source.display_path

-- @name   outside.processes
-- @title  Processes that were sampled on each device
-- @param  run_id INTEGER
-- @col    host         VARCHAR?
-- @col    device       INTEGER?
-- @col    gpu          VARCHAR?
-- @col    pid          BIGINT?
-- @col    process      VARCHAR?
-- @col    clock        VARCHAR
-- @col    samples      BIGINT
-- @col    first_us     BIGINT?
-- @col    last_us      BIGINT?
-- @col    min_bytes    BIGINT
-- @col    last_bytes   BIGINT
-- @col    max_bytes    BIGINT
-- @col    display_path VARCHAR  of the last sample
-- @col    line         BIGINT   of it
-- @why    Pids are reused over days but not within a run; a process that is listed by two monitors is one.
SELECT gauge.host, gauge.device, gauge.gpu, gauge.pid, any_value(gauge.process) AS process, any_value(gauge.clock) AS clock,
  count(*) AS samples, min(gauge.time_us) AS first_us, max(gauge.time_us) AS last_us, min(gauge.bytes) AS min_bytes,
  arg_max(gauge.bytes, struct_pack(t := coalesce(gauge.time_us, 0), l := gauge.line)) AS last_bytes, max(gauge.bytes) AS max_bytes,
  arg_max(source.display_path, struct_pack(t := coalesce(gauge.time_us, 0), l := gauge.line)) AS display_path,
  arg_max(gauge.line, struct_pack(t := coalesce(gauge.time_us, 0), l := gauge.line))::BIGINT AS line
FROM gauge JOIN source USING (source_id)
WHERE gauge.run_id = $run_id AND gauge.metric = 'process_used'
GROUP BY gauge.host, gauge.device, gauge.gpu, gauge.pid
ORDER BY gauge.host NULLS FIRST, gauge.device NULLS FIRST, gauge.gpu NULLS FIRST, max_bytes DESC, gauge.pid

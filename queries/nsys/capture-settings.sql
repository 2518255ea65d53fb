-- @name   nsys.capture_settings
-- @title  What a capture was set to trace
-- @param  source_id INTEGER
-- @col    event_types VARCHAR? kinds of events that were to be captured; NULL: the report does not contain them
-- @col    cuda        BOOLEAN? NULL: unknown
-- @col    nvtx        BOOLEAN?
-- @col    libraries   BOOLEAN? cuBLAS or cuDNN
-- @col    backtraces  BOOLEAN? of calls for memory
-- @why    A switch is off only if the settings of the capture prove it: they are in META_DATA_CAPTURE from schema 3.4 on, and in no JSON
--         export. The list of event types holds for all processes; COLLECT_CUDA_TRACE of the launched process is false in releases of
--         2026, which trace the whole tree. Rows prove that a switch was on.
WITH settings AS (
  SELECT regexp_replace(key, '^PROCESS_\d+:', '') AS name, lower(value) AS value, value AS written
  FROM nsys_option WHERE source_id = $source_id),
facts AS (
  SELECT count(*) FILTER (name = 'CAPTURE_EVENT_TYPE') AS types,
    string_agg(DISTINCT written, ', ' ORDER BY written) FILTER (name = 'CAPTURE_EVENT_TYPE') AS event_types,
    bool_or(name = 'CAPTURE_EVENT_TYPE' AND value LIKE 'cuda%' OR name = 'COLLECT_CUDA_TRACE' AND value = 'true') AS cuda,
    bool_or(name = 'CAPTURE_EVENT_TYPE' AND value LIKE 'nvtx%' OR name = 'COLLECT_NVTX_TRACE' AND value = 'true') AS nvtx,
    bool_or(name = 'CAPTURE_EVENT_TYPE' AND regexp_matches(value, 'blas|dnn')
      OR name IN ('COLLECT_CUBLAS_TRACE', 'COLLECT_CUDNN_TRACE') AND value = 'true') AS libraries,
    bool_or(name LIKE 'CUDA_BACKTRACE_OPTIONS%' AND value NOT IN ('false', '0', 'none', '')) AS backtraces
  FROM settings),
tables AS (SELECT list(name) AS names FROM nsys_table WHERE source_id = $source_id AND row_count > 0)
SELECT event_types,
  CASE WHEN cuda OR list_has_any(names, ['CUPTI_ACTIVITY_KIND_RUNTIME', 'CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY'])
    THEN true WHEN types > 0 THEN false END AS cuda,
  CASE WHEN nvtx OR list_contains(names, 'NVTX_EVENTS') THEN true WHEN types > 0 THEN false END AS nvtx,
  CASE WHEN libraries OR list_has_any(names, ['CUBLAS_EVENTS', 'CUDNN_EVENTS']) THEN true WHEN types > 0 THEN false END AS libraries,
  CASE WHEN backtraces OR list_contains(names, 'CUDA_CALLCHAINS') THEN true WHEN types > 0 THEN false END AS backtraces
FROM facts, tables

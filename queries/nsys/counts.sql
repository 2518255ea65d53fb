-- @name   nsys.counts
-- @title  Ranges, kernels and copies of a report; NULL where they were not captured
-- @param  source_id INTEGER
-- @col    ranges  BIGINT?
-- @col    marks   BIGINT?
-- @col    kernels BIGINT?
-- @col    copies  BIGINT?
-- @col    sets    BIGINT?
-- @col    calls   BIGINT?
-- @col    syncs   BIGINT?
-- @col    graphs  BIGINT?
-- @col    memory_events BIGINT?
-- @col    last_ns BIGINT?  end of the last event
-- @col    first_work_ns BIGINT? of a device
-- @col    last_work_ns BIGINT?
-- @why    A table that is not there was not captured: no number at all, rather than 0.
WITH has AS (SELECT list(name) AS names FROM nsys_table WHERE source_id = $source_id)
SELECT
  CASE WHEN list_contains(names, 'NVTX_EVENTS') THEN
    (SELECT count(*) FROM nsys_nvtx WHERE source_id = $source_id AND type IN ('push_pop', 'start_end')) END AS ranges,
  CASE WHEN list_contains(names, 'NVTX_EVENTS') THEN
    (SELECT count(*) FROM nsys_nvtx WHERE source_id = $source_id AND type = 'mark') END AS marks,
  CASE WHEN list_contains(names, 'CUPTI_ACTIVITY_KIND_KERNEL') THEN
    (SELECT count(*) FROM nsys_kernel WHERE source_id = $source_id) END AS kernels,
  CASE WHEN list_contains(names, 'CUPTI_ACTIVITY_KIND_MEMCPY') THEN
    (SELECT count(*) FROM nsys_copy WHERE source_id = $source_id AND operation = 'memcpy') END AS copies,
  CASE WHEN list_contains(names, 'CUPTI_ACTIVITY_KIND_MEMSET') THEN
    (SELECT count(*) FROM nsys_copy WHERE source_id = $source_id AND operation = 'memset') END AS sets,
  CASE WHEN list_contains(names, 'CUPTI_ACTIVITY_KIND_RUNTIME') THEN
    (SELECT count(*) FROM nsys_api WHERE source_id = $source_id) END AS calls,
  CASE WHEN list_contains(names, 'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION') THEN
    (SELECT count(*) FROM nsys_sync WHERE source_id = $source_id) END AS syncs,
  CASE WHEN list_contains(names, 'CUPTI_ACTIVITY_KIND_GRAPH_TRACE') THEN
    (SELECT count(*) FROM nsys_graph WHERE source_id = $source_id) END AS graphs,
  CASE WHEN list_contains(names, 'CUDA_GPU_MEMORY_USAGE_EVENTS') THEN
    (SELECT count(*) FROM nsys_memory WHERE source_id = $source_id) END AS memory_events,
  (SELECT max(last_ns) FROM (
     SELECT max(end_ns) AS last_ns FROM nsys_kernel WHERE source_id = $source_id
     UNION ALL SELECT max(end_ns) FROM nsys_api WHERE source_id = $source_id
     UNION ALL SELECT max(end_ns) FROM nsys_nvtx WHERE source_id = $source_id
     UNION ALL SELECT max(start_ns) FROM nsys_memory WHERE source_id = $source_id)) AS last_ns,
  (SELECT min(start_ns) FROM (SELECT start_ns, source_id FROM nsys_kernel UNION ALL SELECT start_ns, source_id FROM nsys_copy)
    WHERE source_id = $source_id) AS first_work_ns,
  (SELECT max(end_ns) FROM (SELECT end_ns, source_id FROM nsys_kernel UNION ALL SELECT end_ns, source_id FROM nsys_copy)
    WHERE source_id = $source_id) AS last_work_ns
FROM has LIMIT 1

-- @name   profiler.entries
-- @title  Every change of one memory timeline of torch.profiler, in its order
-- @param  source_id INTEGER
-- @col    ordinal     INTEGER  event, or point in time of several rows
-- @col    time_us     BIGINT?  NULL before the profiler started
-- @col    delta_bytes BIGINT
-- @col    category    ENUM     code as in the ENUM profiler_category
-- @why    The running totals of eight categories as window functions take DuckDB 20 times as long as one pass over these columns.
SELECT ordinal, time_ns // 1000 AS time_us, delta_bytes, category
FROM profiler_memory
WHERE source_id = $source_id
ORDER BY ordinal

-- @name   nsys.diagnostics
-- @title  What the profiler itself found wrong with a capture
-- @param  source_id INTEGER
-- @col    severity VARCHAR
-- @col    text     VARCHAR
-- @col    count    BIGINT
-- @why    Lost events make every count a lower bound.
SELECT severity, text, count(*) AS count
FROM nsys_diagnostic
WHERE source_id = $source_id
GROUP BY severity, text
ORDER BY min(time_ns) NULLS FIRST, text

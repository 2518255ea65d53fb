-- @name   outside.peaks
-- @title  The largest figures of reserved memory from PyTorch's own counters, by rank
-- @param  run_id INTEGER
-- @col    rank                INTEGER?
-- @col    peak_reserved_bytes BIGINT
-- @why    A counter inside the process cannot miss a peak; a monitor that samples can.
SELECT coalesce(log.rank, source.rank) AS rank, max(log.bytes) AS peak_reserved_bytes
FROM log_memory AS log JOIN source USING (source_id) JOIN text_value AS metric ON metric.text_id = log.metric_id
WHERE source.run_id = $run_id AND metric.text IN ('max_reserved', 'reserved') AND log.bytes IS NOT NULL
GROUP BY 1
ORDER BY rank NULLS FIRST

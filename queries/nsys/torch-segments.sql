-- @name   nsys.torch_segments
-- @title  Segments of PyTorch's allocator over a recording: when each was taken from the driver and given back
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    address  BIGINT
-- @col    bytes    BIGINT
-- @col    alloc_us BIGINT?  NULL: before the recording
-- @col    free_us  BIGINT?  NULL: held at the dump
-- @why    Driver memory that PyTorch does not hold belongs to another library. The profiler records no driver allocation for a mapped part
--         of an expandable segment.
WITH trace_segments AS (
  SELECT seq, action, addr AS address, size_bytes AS bytes, time_us,
    lead(action) OVER block AS next_action, lead(time_us) OVER block AS next_us, lag(action) OVER block AS before_action
  FROM event WHERE snapshot_id = $snapshot_id AND device = $device AND action IN ('segment_alloc', 'segment_free')
  WINDOW block AS (PARTITION BY addr ORDER BY seq))
SELECT address::BIGINT AS address, bytes, time_us AS alloc_us, CASE WHEN next_action = 'segment_free' THEN next_us END AS free_us
FROM trace_segments WHERE action = 'segment_alloc'
UNION ALL
SELECT address::BIGINT, bytes, NULL, time_us FROM trace_segments
  WHERE action = 'segment_free' AND before_action IS DISTINCT FROM 'segment_alloc'
UNION ALL
SELECT final.address::BIGINT, final.total_bytes, NULL, NULL
FROM segment AS final
WHERE final.snapshot_id = $snapshot_id AND final.device = $device
  AND NOT EXISTS (SELECT 1 FROM trace_segments WHERE trace_segments.address = final.address AND trace_segments.action = 'segment_alloc'
    AND trace_segments.next_action IS NULL)
ORDER BY address, alloc_us NULLS FIRST

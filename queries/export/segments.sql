-- @name   export.segments
-- @title  Segments of a snapshot as JSON text, without frames, blocks and their closing brace
-- @param  snapshot_id INTEGER
-- @param  from_segment INTEGER  first
-- @param  to_segment   INTEGER  one past the last
-- @param  device       INTEGER? only this one
-- @col    segment  INTEGER
-- @col    stack_id INTEGER? NULL if the segment lacks the key frames
-- @col    head     VARCHAR
-- @why    Torch's own header sums are written as they were read: a copy does not correct.
SELECT
  segment.segment, segment.stack_id,
  concat(
    '{"device":', segment.device,
    ',"address":', segment.address,
    ',"total_size":', segment.total_bytes,
    ',"allocated_size":' || segment.allocated_header_bytes,
    ',"active_size":' || segment.active_header_bytes,
    ',"requested_size":' || segment.requested_header_bytes,
    ',"stream":' || segment.stream,
    CASE WHEN segment.segment_type <> 'unknown' THEN ',"segment_type":"' || segment.segment_type::VARCHAR || '"' END,
    ',"segment_pool_id":[' || pool.pool_id_a || ',' || pool.pool_id_b || ']',
    ',"is_expandable":' || CASE WHEN segment.is_expandable = 1 THEN 'true' WHEN segment.is_expandable = 0 THEN 'false' END
  ) AS head
FROM segment
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = segment.snapshot_id AND pool.pool = segment.pool
WHERE segment.snapshot_id = $snapshot_id AND segment.segment >= $from_segment AND segment.segment < $to_segment
  AND ($device IS NULL OR segment.device = $device)
ORDER BY segment.segment

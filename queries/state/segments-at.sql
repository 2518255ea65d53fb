-- @name   state.segments_at
-- @title  Segments of a device after one entry of its trace, by address
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @of     segments_at
-- @why    The state at a moment, as columns for code that goes over the segments in order of address.
SELECT segment.address, segment.total_bytes, segment.stream, segment.segment_type, segment.pool, segment.is_expandable, segment.is_inferred
FROM segments_at($snapshot_id, $device, $at_seq) AS segment
ORDER BY segment.address

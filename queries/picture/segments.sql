-- @name   picture.segments
-- @title  Segments of a device, or mapped runs of expandable ones, with the entries at which they begin and end
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @of     segment_life: from_seq to_seq address total_bytes stream pool is_expandable
-- @col    is_small      BOOLEAN
-- @why    What is reserved, and where.
SELECT from_seq, to_seq, address, total_bytes, stream, segment_type = 'small' AS is_small, pool, is_expandable
FROM segment_life
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY from_seq, address

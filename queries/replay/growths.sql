-- @name   replay.growths
-- @title  Whose memory each segment_alloc or segment_map of a trace brought
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    from_seq INTEGER
-- @col    is_small BOOLEAN
-- @col    pool     INTEGER?
-- @needs  segment_life
-- @why    Entries name neither the class of size nor, before torch 2.12, the pool.
SELECT life.from_seq, life.segment_type = 'small' AS is_small, life.pool
FROM segment_life AS life
JOIN event ON event.snapshot_id = life.snapshot_id AND event.device = life.device AND event.seq = life.from_seq
WHERE life.snapshot_id = $snapshot_id AND life.device = $device AND event.action IN ('segment_alloc', 'segment_map')
ORDER BY life.from_seq

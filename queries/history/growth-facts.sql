-- @name   history.growth_facts
-- @title  Whose memory each segment entry brought
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    seq          INTEGER
-- @col    segment_type ENUM      code as in SEGMENT_TYPES
-- @col    pool         INTEGER?
-- @col    is_inferred  UTINYINT
-- @why    Before torch 2.12 entries lack the pool; it is inferred from the final state and the neighbours.
SELECT seq, segment_type, pool, is_inferred
FROM derived_growth
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY seq DESC

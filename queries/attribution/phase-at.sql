-- @name   attribution.phase_at
-- @title  What the program was doing at an entry of its trace
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  at_seq      INTEGER
-- @col    phase VARCHAR
-- @why    The phase of the last allocation that has one. What is logged happens inside another phase.
SELECT label.phase
FROM block_life AS life
JOIN label ON label.snapshot_id = life.snapshot_id AND label.device = life.device AND label.label = life.label
WHERE life.snapshot_id = $snapshot_id AND life.device = $device AND life.from_seq BETWEEN 0 AND $at_seq
  AND label.phase NOT IN ('unknown', 'logging')
ORDER BY life.from_seq DESC
LIMIT 1

-- @name   measure.peak_stacks
-- @title  Live memory of a device after one entry of its trace, by stack and component, the most first
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    stack_id  INTEGER?
-- @col    kind      VARCHAR  what distinguishes memory of equal frames; see live_stacks_at
-- @col    component VARCHAR
-- @col    bytes     BIGINT
-- @col    count     BIGINT
-- @why    What golden values keep of a peak.
SELECT stack_id, kind, component, sum(bytes)::BIGINT AS bytes, sum(blocks)::BIGINT AS count
FROM live_stacks_at($snapshot_id, $device, $at_seq) AS live
GROUP BY stack_id, kind, component
ORDER BY sum(bytes) DESC, stack_id NULLS FIRST, sum(blocks), min(first_address)

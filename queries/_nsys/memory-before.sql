-- @name   _nsys.memory_before
-- @title  Memory held since before the capture, as far as it was freed in it
-- @param  source_id INTEGER
-- @col    pid    INTEGER?
-- @col    device INTEGER?
-- @col    kind   ENUM
-- @col    bytes  BIGINT
-- @why    What was freed without having been allocated was held from the start: a lower bound, which keeps the curve from going below zero.
SELECT pid, device, kind, sum(bytes)::BIGINT AS bytes
FROM nsys_allocation WHERE source_id = $source_id AND origin = 'before_capture'
GROUP BY pid, device, kind

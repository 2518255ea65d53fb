-- @name   state.steps
-- @title  Training steps of a device, by its annotations
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    step       BIGINT
-- @col    start_us   BIGINT?
-- @col    end_us     BIGINT?
-- @col    first_seq  INTEGER? NULL: the trace lacks the step
-- @col    last_seq   INTEGER?
-- @col    occurrence INTEGER? which of the steps of this number
-- @col    partial    VARCHAR? start, end or both are cut off; NULL: whole
-- @why    Annotations have a ring of their own that reaches further back than the trace.
SELECT step, start_us, end_us, first_seq, last_seq, occurrence, partial
FROM trace_step
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY ordinal

-- @name   state.steps
-- @title  Training steps of a device, by its annotations
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @of     trace_step: ordinal step start_us end_us first_seq last_seq occurrence partial
-- @why    Annotations have a ring of their own that reaches further back than the trace.
SELECT ordinal, step, start_us, end_us, first_seq, last_seq, occurrence, partial
FROM trace_step
WHERE snapshot_id = $snapshot_id AND device = $device
ORDER BY ordinal

-- @name   verdict.optimizer_setup
-- @title  Whether a Megatron optimizer was set up in the trace before some entry
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  before_seq  INTEGER  only entries before it
-- @col    allocations BIGINT
-- @why    Megatron's mixed-precision optimizers allocate in every step (norms, Adam's moments in the first): set up, and no allocation of a
--         step yet, means that no step is over. torch's own optimizers may step without allocating.
SELECT count(*) AS allocations
FROM event
WHERE event.snapshot_id = $snapshot_id AND event.device = $device AND event.action = 'alloc' AND event.seq < $before_seq
  AND event.stack_id IN (
    SELECT stack_frame.stack_id FROM stack_frame JOIN frame USING (frame_id)
    WHERE contains(frame.filename, 'megatron/core/optimizer/') OR frame.name = '_build_model_and_main_param_groups')
ORDER BY allocations

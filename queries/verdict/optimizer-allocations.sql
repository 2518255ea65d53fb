-- @name   verdict.optimizer_allocations
-- @title  Allocations that an optimizer's step made, by their place in the trace
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  before_seq  INTEGER  only entries before it
-- @col    seq         INTEGER
-- @why    Every step of training ends in an optimizer step, whose norms and temporaries allocate: where no annotation marks steps, its
--         stacks do.
SELECT event.seq
FROM event
WHERE event.snapshot_id = $snapshot_id AND event.device = $device AND event.action = 'alloc' AND event.seq < $before_seq
  AND event.stack_id IN (
    SELECT stack_frame.stack_id FROM stack_frame JOIN frame USING (frame_id)
    WHERE frame.name IN ('step', 'step_with_ready_grads', 'get_grad_norm', 'get_grad_norm_fp32', 'clip_grad_norm', 'clip_grad_norm_')
      AND contains(lower(frame.filename), 'optim')
      OR frame.name IN ('get_grad_norm_fp32', 'clip_grad_norm_', 'clip_grad_by_total_norm_fp32'))
ORDER BY seq

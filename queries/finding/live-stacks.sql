-- @name   finding.live_stacks
-- @title  What was live after one entry of a trace, by stack
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    bytes       HUGEINT? actual sizes
-- @col    blocks      BIGINT
-- @col    requested   HUGEINT? requested bytes, where they were recorded
-- @col    stack_id    INTEGER?
-- @col    stack_origin VARCHAR free_event: only the stack of the free is known
-- @col    frames      VARCHAR? the four innermost
-- @why    Sites are these stacks with library frames taken out; here nothing is taken out.
SELECT stacks.bytes, stacks.blocks, stacks.requested_bytes AS requested, stacks.stack_id, stacks.stack_origin,
  (SELECT string_agg(frame.name || ' ' || frame.filename || ':' || frame.line, ' < ' ORDER BY stack_frame.pos)
    FROM stack_frame JOIN frame USING (frame_id) WHERE stack_frame.stack_id = stacks.stack_id AND stack_frame.pos < 4) AS frames
FROM stacks_at($snapshot_id, $device, $at_seq) AS stacks
ORDER BY stacks.bytes DESC, stacks.stack_id NULLS FIRST, stacks.stack_origin

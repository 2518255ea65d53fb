-- @name   finding.live_stacks
-- @title  What was live after one entry of a trace, by stack
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    bytes       BIGINT? actual sizes
-- @col    blocks      BIGINT
-- @col    requested   BIGINT? requested bytes, where they were recorded
-- @col    stack_id    INTEGER?
-- @col    stack_origin VARCHAR free_event: only the stack of the free is known
-- @col    frames      VARCHAR? the four innermost of Python; of a stack without any, the four innermost
-- @why    Sites are these stacks with library frames taken out. Here only native frames are: they are the same in all.
SELECT stacks.bytes, stacks.blocks, stacks.requested_bytes AS requested, stacks.stack_id, stacks.stack_origin,
  (SELECT array_to_string(
      list_slice(
        coalesce(
          list(format('{} {}:{}', frame.name, frame.filename, frame.line) ORDER BY stack_frame.pos)
            FILTER (frame.filename LIKE '%.py'),
          list(format('{} {}:{}', frame.name, frame.filename, frame.line) ORDER BY stack_frame.pos)),
        1, 4),
      ' < ')
    FROM stack_frame JOIN frame USING (frame_id) WHERE stack_frame.stack_id = stacks.stack_id) AS frames
FROM stacks_at($snapshot_id, $device, $at_seq) AS stacks
ORDER BY stacks.bytes DESC, stacks.stack_id NULLS FIRST, stacks.stack_origin

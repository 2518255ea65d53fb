-- @name   snapshot.stack_frames
-- @title  Which frames some stacks have, innermost first
-- @param  stack_ids VARCHAR  ids, separated by commas
-- @col    stack_id INTEGER
-- @col    pos      INTEGER  0 = where the allocator was called
-- @col    frame_id INTEGER
-- @why    Frames are fetched for the stacks a screen shows, not for all. Numbers only: a frame is in many stacks, and its texts need to be
--         read once.
SELECT stack_frame.stack_id, stack_frame.pos, stack_frame.frame_id
FROM stack_frame
WHERE stack_frame.stack_id IN (SELECT CAST(unnest(string_split($stack_ids, ',')) AS INTEGER))
ORDER BY stack_frame.stack_id, stack_frame.pos

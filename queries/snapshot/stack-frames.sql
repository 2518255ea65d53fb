-- @name   snapshot.stack_frames
-- @title  Frames of some stacks, innermost first
-- @param  stack_ids VARCHAR  ids, separated by commas
-- @col    stack_id INTEGER
-- @col    pos      INTEGER  0 = where the allocator was called
-- @col    name     VARCHAR
-- @col    filename VARCHAR
-- @col    line     INTEGER  0 = unknown
-- @why    Frames are fetched for the stacks a screen shows, not for all.
SELECT stack_frame.stack_id, stack_frame.pos, frame.name, frame.filename, frame.line
FROM stack_frame
JOIN frame USING (frame_id)
WHERE stack_frame.stack_id IN (SELECT CAST(unnest(string_split($stack_ids, ',')) AS INTEGER))
ORDER BY stack_frame.stack_id, stack_frame.pos

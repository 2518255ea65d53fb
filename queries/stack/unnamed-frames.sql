-- @name   stack.unnamed_frames
-- @title  Frames of the stacks whose site was not named when they were read
-- @col    stack_id INTEGER
-- @col    name     VARCHAR
-- @col    filename VARCHAR
-- @col    line     INTEGER
-- @why    A store of an older version is brought up to date when it is opened.
SELECT stack_frame.stack_id, frame.name, frame.filename, frame.line
FROM stack
JOIN stack_frame ON stack_frame.stack_id = stack.stack_id
JOIN frame ON frame.frame_id = stack_frame.frame_id
WHERE stack.site IS NULL
ORDER BY stack_frame.stack_id, stack_frame.pos

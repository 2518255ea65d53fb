-- @name   snapshot.frames
-- @title  Some frames
-- @param  frame_ids VARCHAR  ids, separated by commas
-- @col    frame_id INTEGER
-- @col    name     VARCHAR
-- @col    filename VARCHAR
-- @col    line     INTEGER  0 = unknown
-- @why    The texts of what snapshot.stack_frames names.
SELECT frame_id, name, filename, line
FROM frame
WHERE frame_id IN (SELECT CAST(unnest(string_split($frame_ids, ',')) AS INTEGER))
ORDER BY frame_id

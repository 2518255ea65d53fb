-- @name   export.frames
-- @title  Some frames as JSON text
-- @param  frame_ids VARCHAR  ids, separated by commas
-- @col    frame_id INTEGER
-- @col    json     VARCHAR
-- @why    Each frame is escaped once, however many stacks it is in.
SELECT frame_id, concat('{"name":', to_json(name)::VARCHAR, ',"filename":', to_json(filename)::VARCHAR, ',"line":', line, '}') AS json
FROM frame
WHERE frame_id IN (SELECT CAST(unnest(string_split($frame_ids, ',')) AS INTEGER))
ORDER BY frame_id

-- @name   redact.frames
-- @title  The frames of all stacks, without their lines
-- @col    name     VARCHAR function
-- @col    filename VARCHAR its file; empty where there is none
-- @why    Only both show whether a name is private: `forward` of an installed package is not.
SELECT DISTINCT name, filename
FROM frame
UNION
SELECT coalesce(frame_function, ''), frame_file
FROM incident
WHERE frame_file IS NOT NULL
ORDER BY ALL
